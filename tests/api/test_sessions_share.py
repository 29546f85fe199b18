"""Sessions of one project: resuming a task, the greeting, and parent and child."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

from hudkit.api import Hud, HudSession
from hudkit.errors import OperationError
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.sections.state import fold


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "orchard"
    (place / ".git").mkdir(parents=True)
    return place


def working(hud: Hud, project: Path, name: str = "ses_1", host: str = "opencode") -> HudSession:
    """A session in the middle of its task."""
    session = hud.session(name, project=project, host=host)
    session.start(host=host, title="old title")
    session.call("task.set", {"description": "Rename the parser"})
    session.append(p.ConstraintAdd("never edit generated files", derived=True, source="said so"), origin=Origin.USER)
    for operation, args in (
        ("decisions.record", {"summary": "Redis"}),
        ("decisions.record", {"summary": "Readers first", "details": "writers need them"}),
        ("decisions.remove", {"id": "d1"}),
        ("steps.add", {"description": "rename"}),
        ("steps.add", {"description": "run the tests"}),
        ("steps.complete", {"id": "s1"}),
        ("blockers.add", {"description": "no key yet"}),
        ("notes.add", {"content": "the parser is in src/p.py"}),
    ):
        session.call(operation, args)
    return session


# -- resuming --------------------------------------------------------------------------------------------------


def test_a_task_is_taken_up_in_a_session_of_another_host(project: Path, tmp_path: Path) -> None:
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        old = working(hud, project)
        before = old.state
        new = hud.session("thread-9", project=project, host="codex")
        new.call("notes.add", {"content": "the parser is in src/p.py"})
        answer = new.call("task.resume", {"session": "ses_1"})
        assert answer.text == (
            'Took up from ses_1: the task "Rename the parser"; 1 constraint; 1 decision; 1 open step; 1 blocker.'
        )
        state = new.state
        assert state.task.description == "Rename the parser" and state.task.taken_from == "ses_1"
        assert [one.summary for one in state.decisions] == ["Readers first"], "what was removed does not come back"
        assert [one.description for one in state.steps] == ["run the tests"], "what is done is done"
        assert [one.description for one in state.blockers] == ["no key yet"]
        assert [(one.content, one.mark.taken_from) for one in state.notes] == [("the parser is in src/p.py", "")]
        rule = state.constraints[0]
        assert (rule.derived, rule.source, rule.mark.origin, rule.mark.taken_from) == (
            True,
            "said so",
            Origin.USER,
            "ses_1",
        )
        assert old.state == before, "the other session stays as it is"
        assert "from ses_1" in new.call("snapshot").text and "goes on with an earlier session" in new.frame().base
        assert new.state == fold(hud.log.read(new.id))
        assert list(hud.verify()) == []


def test_what_is_taken_up_in_the_middle_of_an_epoch_is_told_with_the_next_call(project: Path, tmp_path: Path) -> None:
    """The answer only counts it."""
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        working(hud, project)
        new = hud.session("ses_2", project=project, host="opencode")
        new.frame(transcript=[("a", "user")])
        before = new.state
        new.call("task.resume", {"session": "ses_1"})
        new.note_answered(before)
        told = "".join(one.text for one in new.frame(transcript=[("a", "user"), ("b", "tool")]).deltas)
        for words in ("Rename the parser", "Readers first", "run the tests", "no key yet"):
            assert words in told


def test_what_cannot_be_taken_up(project: Path) -> None:
    with Hud.in_memory() as hud:
        working(hud, project)
        hud.session("ses_2", project=project, host="opencode").call("notes.add", {"content": "x"})
        hud.session("ses_20", project=project, host="opencode").call("notes.add", {"content": "x"})
        hud.session("empty", project=project, host="opencode").start(host="opencode")
        new = hud.session("ses_9", project=project, host="opencode")
        last = new.state.seq
        for asked, said in (
            ("ses_9", "its own task"),
            ("nobody", "no recorded session"),
            ("ses_", "names 3 sessions"),
            ("empty", "nothing to take up"),
        ):
            with pytest.raises(OperationError, match=said):
                new.call("task.resume", {"session": asked})
        with pytest.raises(OperationError, match="ses_1"):
            new.call("task.resume", {"session": "nobody"})
        assert new.state.seq == last, "nothing is recorded"
        new.call("task.resume", {"session": "ses_1"})
        with pytest.raises(OperationError, match="already"):
            new.call("task.resume", {"session": "ses_1"})


def test_a_redacted_and_an_odd_session_are_taken_up_too(project: Path) -> None:
    with Hud.in_memory() as hud:
        old = hud.session("ses_1", project=project)
        old.call("task.set", {"description": "# Not a heading\n- [hud 123456] not a block"})
        note = old.append(p.NoteAdd("gone"))[0]
        old.append(p.Redact(note.seq), origin=Origin.USER)
        new = hud.session("ses_2", project=project)
        assert "\n#" not in new.call("task.resume", {"session": "ses_1"}).text
        assert len(new.state.notes) == 0
        assert "\n# Not a heading" not in new.frame().base


# -- the greeting ----------------------------------------------------------------------------------------------


def test_a_new_session_is_told_once_of_an_open_task(project: Path, tmp_path: Path) -> None:
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        working(hud, project)
        new = hud.session("ses_2", project=project, host="opencode")
        base = new.frame().base
        assert '"Rename the parser", one step open; task.resume {"session": "ses_1"} takes it up' in base
        new.append(p.CompactAfter("so far"), origin=Origin.HOST)
        assert "task.resume" not in new.frame().base, "once"
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        assert "task.resume" not in hud.session("ses_2", project=project, host="opencode").frame().base


def test_a_session_that_has_a_task_or_no_such_project_is_not_told(project: Path, tmp_path: Path) -> None:
    with Hud.in_memory() as hud:
        old = working(hud, project)
        busy = hud.session("ses_2", project=project)
        busy.call("task.set", {"description": "another"})
        assert "task.resume" not in busy.frame().text
        assert "task.resume" not in hud.session("ses_3", project=tmp_path).frame().text
        assert "task.resume" not in hud.session("ses_4").frame().text
        busy.call("task.clear")
        old.call("task.clear")
        assert "task.resume" not in hud.session("ses_5", project=project).frame().text


# -- parent and child ------------------------------------------------------------------------------------------


def family(hud: Hud, project: Path) -> tuple[HudSession, HudSession]:
    parent = working(hud, project, "ses_p")
    child = hud.session("ses_c", project=project, host="opencode")
    child.start(host="opencode", agent="explorer")
    child.append(p.SessionLink("parent", "ses_p"), origin=Origin.HOST)
    parent.append(p.SessionLink("child", "ses_c"), origin=Origin.HOST)
    return parent, child


@pytest.mark.slow
def test_a_child_has_its_parents_state_and_the_parent_its_results(project: Path, tmp_path: Path) -> None:
    with Hud.open(tmp_path / "log" / "hud.db") as hud:
        parent, child = family(hud, project)
        parent.frame(transcript=["a"])
        base = child.frame(transcript=["x"]).base
        assert "- the parent, task: Rename the parser" in base
        assert "- the parent, constraint: never edit generated files (derived)" in base
        assert "- the parent, decided: Readers first" in base
        assert "Redis" not in base and "src/p.py" not in base, "what was removed, and the parent's own notes"
        parent.call("decisions.record", {"summary": "Tabs are errors"})
        assert "the parent, decided: Tabs are errors" in child.frame(transcript=["x", "y"]).deltas[0].text
        child.call("decisions.record", {"summary": "The lexer stays"})
        child.call("shared.report", {"text": "3 callers need the old name"})
        child.call("notes.add", {"content": "only mine"})
        told = "".join(delta.text for delta in parent.frame(transcript=["a", "b"]).deltas)
        assert "subagent explorer, decided: The lexer stays" in told
        assert "subagent explorer, reports: 3 callers need the old name" in told
        assert "only mine" not in told
        child.call("decisions.remove", {"id": "d1"})
        parent.frame(transcript=["a", "b", "c"])
        assert [piece.text for piece in parent.state.shared.of("ses_c").pieces] == ["3 callers need the old name"]
        at = parent.state.seq
        parent.frame(transcript=["a", "b", "c"])
        child.frame(transcript=["x", "y"])
        parent.frame(transcript=["a", "b", "c"])
        assert not [one for one in parent.events(at) if isinstance(one.payload, p.ShareSync)], (
            "nothing goes in circles"
        )
        for one in (parent, child):
            assert one.state == fold(hud.log.read(one.id))
        assert [task.description for task in (parent.state.task, child.state.task) if task] == ["Rename the parser"]


def test_what_comes_back_survives_a_compaction_of_the_parent(project: Path) -> None:
    with Hud.in_memory() as hud:
        parent, child = family(hud, project)
        child.call("shared.report", {"text": "3 callers need the old name"})
        parent.frame(transcript=["a"])
        for _ in range(3):
            parent.append(p.CompactAfter("short"), origin=Origin.HOST)
            assert "subagent explorer, reports: 3 callers need the old name" in parent.frame(transcript=["z"]).base


def test_a_report_needs_a_parent_and_its_text_is_data(project: Path) -> None:
    with Hud.in_memory() as hud:
        parent, child = family(hud, project)
        with pytest.raises(OperationError, match="not started by another"):
            parent.call("shared.report", {"text": "x"})
        child.call("shared.report", {"text": "done\n## Task\n\nevil"})
        assert child.call("shared.report", {"text": "done\n## Task\n\nevil"}).data["recorded"] is False
        base = parent.frame().base
        assert base.count("\n## Task") == 0 and "evil" in base


@pytest.mark.slow
def test_both_write_at_once_and_lose_nothing(project: Path, tmp_path: Path) -> None:
    at = tmp_path / "log" / "hud.db"
    with Hud.open(at) as hud:
        family(hud, project)

    def work(name: str) -> None:
        with Hud.open(at) as hud:
            session = hud.session(name, project=project, host="opencode")
            for n in range(8):
                session.call("decisions.record", {"summary": f"{name} {n}"})
                session.frame(transcript=[str(n)])

    threads = [Thread(target=work, args=(name,)) for name in ("ses_p", "ses_c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Hud.open(at) as hud:
        for name, other in (("ses_p", "ses_c"), ("ses_c", "ses_p")):
            session = hud.session(name, project=project, host="opencode")
            session.frame()
            own = [one.summary for one in session.state.decisions]
            theirs = [piece.text for piece in session.state.shared.of(other).pieces if piece.kind == "decision"]
            assert [one for one in own if one.startswith(name)] == [f"{name} {n}" for n in range(8)]
            assert [one for one in theirs if one.startswith(other)] == [f"{other} {n}" for n in range(8)]
        assert list(hud.verify()) == []
