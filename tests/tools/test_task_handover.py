"""A person hands a task on: the next session of the project has it in its first frame, in whatever host."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.api import HudSession
from hudkit.errors import StoreFull
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.stores import MemoryLog
from hudkit.tools.task_handover import hand_on, handed_on, open_tasks_of, take_back


def _worked(hud: Hud, folder: Path, id: str = "one", host: str = "claude-code") -> HudSession:
    session = hud.session(id, project=folder, host=host)
    session.start(host=host, directory=str(folder))
    session.call("task.set", {"description": "Mend the kiln"}, origin=Origin.USER)
    session.call("constraints.add", {"text": "Never touch legacy/"}, origin=Origin.USER)
    session.call("decisions.record", {"summary": "Use cone 6", "details": "The glaze runs at cone 10"})
    session.call("steps.add", {"description": "Check the cones"})
    session.call("notes.add", {"content": "The sensor is new"})
    session.frame(limit_tokens=200_000)
    return session


def _state_words(session: HudSession) -> dict[str, list[str]]:
    state = session.state
    return {
        "task": [state.task.description],
        "rules": [rule.text for rule in state.constraints],
        "decisions": [f"{each.summary}: {each.details}" for each in state.decisions],
        "steps": [step.description for step in state.steps.open],
        "notes": [note.content for note in state.notes],
    }


def _hand_on(hud: Hud, folder: Path, session: HudSession) -> None:
    hand_on(hud.project(folder), session.id, session.state)


def test_a_task_moves_through_three_hosts_with_equal_state(hud: Hud, tmp_path: Path) -> None:
    first = _worked(hud, tmp_path)
    _hand_on(hud, tmp_path, first)
    second = hud.session("two", project=tmp_path, host="codex")
    frame = second.frame(limit_tokens=200_000)
    assert _state_words(second) == _state_words(first)
    assert "Mend the kiln" in frame.text and "Never touch legacy/" in frame.text
    assert [rule.mark.origin for rule in second.state.constraints] == [Origin.USER]
    second.call("steps.add", {"description": "Fire it"})
    _hand_on(hud, tmp_path, second)
    third = hud.session("three", project=tmp_path, host="opencode")
    third.frame(limit_tokens=200_000)
    assert _state_words(third) == _state_words(second)


def test_sessions_of_several_hosts_may_have_one_id(hud: Hud, tmp_path: Path) -> None:
    """As programs name their threads: "main" in LangChain, and in pydantic-ai."""
    first = before = _worked(hud, tmp_path, "main", "langchain")
    for host in ("pydantic-ai", "openai-agents", "opencode"):
        _hand_on(hud, tmp_path, before)
        after = hud.session("main", project=tmp_path, host=host)
        after.frame(limit_tokens=200_000)
        assert _state_words(after) == _state_words(first)
        assert handed_on(hud.project(tmp_path)) is None
        after.call("notes.add", {"content": f"said in {host}"})
        first.call("notes.add", {"content": f"said in {host}"})
        before = after
    offered = hud.session("other", project=tmp_path, host="codex")
    text = offered.frame(limit_tokens=200_000).text
    assert f'"session": "{first.id}"' in text, "the one that worked last, by what no other session is called"
    offered.call("task.resume", {"session": first.id})
    assert _state_words(offered) == _state_words(first)


def test_only_the_next_session_that_begins_takes_it_up(hud: Hud, tmp_path: Path) -> None:
    running = hud.session("running", project=tmp_path, host="codex")
    running.frame(limit_tokens=200_000)
    first = _worked(hud, tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".git").mkdir()
    _hand_on(hud, tmp_path, first)
    for other in (running, first, hud.session("far", project=elsewhere, host="codex")):
        before = other.state.task.description
        other.frame(limit_tokens=200_000)
        assert other.state.task.description == before
    agent = hud.session("agent-1", project=tmp_path, host="codex")
    agent.is_subagent = True
    agent.frame(limit_tokens=200_000)
    assert not agent.state.task
    for id, task in (("two", "Mend the kiln"), ("three", "")):
        session = hud.session(id, project=tmp_path, host="codex")
        session.frame(limit_tokens=200_000)
        assert session.state.task.description == task
    assert handed_on(hud.project(tmp_path)) is None


def test_a_new_process_of_a_running_session_takes_nothing_up(hud: Hud, tmp_path: Path) -> None:
    running = hud.session("running", project=tmp_path, host="codex")
    running.frame(limit_tokens=200_000)
    _hand_on(hud, tmp_path, _worked(hud, tmp_path))
    hud.forget(running)
    again = hud.session("running", project=tmp_path, host="codex")
    again.frame(limit_tokens=200_000)
    assert not again.state.task


class Filling(MemoryLog):
    """A log whose medium can be full."""

    full = False

    def append(self, session_id, drafts, *, expected=None):  # type: ignore[no-untyped-def]
        if self.full:
            raise StoreFull("no space left on the medium")
        return super().append(session_id, drafts, expected=expected)


def test_a_session_that_began_while_nothing_could_be_written_takes_it_up_as_soon_as_it_can(tmp_path: Path) -> None:
    log = Filling()
    with Hud(log) as hud:
        first = _worked(hud, tmp_path)
        _hand_on(hud, tmp_path, first)
        log.full = True
        second = hud.session("two", project=tmp_path, host="codex")
        assert "Mend the kiln" not in second.frame(limit_tokens=200_000, transcript=["u1"]).base
        log.full = False
        assert "Mend the kiln" in second.frame(limit_tokens=200_000, transcript=["u1", "u2"]).base
        assert _state_words(second) == _state_words(first)
        assert handed_on(hud.project(tmp_path)) is None


def test_what_is_taken_back_is_not_taken_up(hud: Hud, tmp_path: Path) -> None:
    _hand_on(hud, tmp_path, _worked(hud, tmp_path))
    offer = take_back(hud.project(tmp_path))
    assert offer is not None and offer.task == "Mend the kiln"
    assert take_back(hud.project(tmp_path)) is None
    session = hud.session("two", project=tmp_path, host="codex")
    session.frame(limit_tokens=200_000)
    assert not session.state.task


def test_where_nobody_set_a_task_what_was_asked_for_first_stands_in(hud: Hud, tmp_path: Path) -> None:
    first = hud.session("one", project=tmp_path, host="claude-code")
    text = "Bring the kiln down to 80 degrees per hour."
    first.ingest([{"id": "m1", "role": "user", "text": text, "time": 1_795_000_000_000}])
    assert not first.state.task
    ((key, _),) = open_tasks_of(hud.project(tmp_path))
    assert key == first.id
    _hand_on(hud, tmp_path, first)
    second = hud.session("two", project=tmp_path, host="codex")
    second.frame(limit_tokens=200_000)
    assert second.state.task.description == text


def test_a_session_that_is_gone_from_the_log_stays_handed_on_and_the_frame_goes_out(hud: Hud, tmp_path: Path) -> None:
    hud.project(tmp_path).append(p.SessionOffer("nobody", "x"), origin=Origin.USER)
    session = hud.session("two", project=tmp_path, host="codex")
    assert session.frame(limit_tokens=200_000).text
    assert handed_on(hud.project(tmp_path)) is not None


@pytest.mark.parametrize("hosts", [("codex", "claude-code")])
def test_tasks_of_a_project_come_newest_first(hud: Hud, tmp_path: Path, hosts: tuple[str, ...]) -> None:
    for number, host in enumerate(hosts):
        _worked(hud, tmp_path, f"ses_{number}", host)
    assert [state.session.host for _, state in open_tasks_of(hud.project(tmp_path))] == ["claude-code", "codex"]


def test_the_session_that_worked_last_comes_first_where_the_clock_went_back(tmp_path: Path) -> None:
    now = 1_795_000_000_000
    with Hud(MemoryLog(), clock=lambda: now) as hud:
        _worked(hud, tmp_path, "before", "codex")
        now -= 86_400_000
        last = _worked(hud, tmp_path, "after", "codex")
        assert next(key for key, _ in open_tasks_of(hud.project(tmp_path))) == last.id
        text = hud.session("next", project=tmp_path, host="codex").frame(limit_tokens=200_000).text
    assert '"session": "after"' in text
