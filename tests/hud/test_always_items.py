"""What its user made hold in all sessions: one that begins has it in its first base, and no agent adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import AlwaysSettings, Settings
from hudkit.errors import HudkitError
from hudkit.hud.always_file import AlwaysItem, add_always, read_always
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.paths import SectionPaths
from hudkit.tools.operation import OPERATIONS
from hudkit.tools.review import find_item, live_items, promote_item


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def file(tmp_path: Path, shop: Path) -> Path:
    """A rule of a project, and a preference, a decision and a fact of all sessions."""
    path = tmp_path / "config" / "always.toml"
    items = (
        AlwaysItem("constraints", "Never touch legacy/", project=str(shop), session="claude-code/ses_0@aa"),
        AlwaysItem("preferences", "Short answers"),
        AlwaysItem("decisions", "Dates are UTC", reason="users travel"),
        AlwaysItem("notes", "The CI is at ci.example.net"),
    )
    for item in items:
        add_always(path, item)
    return path


def opened(tmp_path: Path, file: Path, settings: Settings | None = None) -> Hud:
    places = SectionPaths(tmp_path / "sections", tmp_path / "trusted", file)
    return Hud.open(tmp_path / "hudkit.db", sections=places, settings=settings)


@pytest.fixture
def hud(tmp_path: Path, file: Path) -> Iterator[Hud]:
    with opened(tmp_path, file) as hud:
        yield hud


def first_base(session: HudSession) -> str:
    return session.frame(used_tokens=1_000, limit_tokens=200_000, transcript=["u1"]).base


def hear(session: HudSession, text: str, time: int = 1_795_000_000_000) -> None:
    session.ingest([{"id": f"m{time}", "role": "user", "time": time, "text": text}])


def test_a_session_that_begins_has_it_in_its_first_base_and_shows_whose_it_is(
    hud: Hud, shop: Path, tmp_path: Path
) -> None:
    base = first_base(hud.session("ses_1", project=shop, host="codex"))
    for line in (
        "- Never touch legacy/ (user, this project)\n",
        "- Short answers (user, all sessions)\n",
        "- Dates are UTC (user, all sessions) (because: users travel)\n",
        "- The CI is at ci.example.net (user, all sessions)\n",
    ):
        assert line in base
    listed = hud.session("ses_1", project=shop, host="codex").call("constraints.list").text
    assert "c1 (user, this project, from ses_0): Never touch legacy/" in listed
    for other in (
        hud.session("ses_2", project=tmp_path, host="opencode"),
        hud.session("ses_3", host="opencode"),
    ):
        base = first_base(other)
        assert "Short answers (user, all sessions)" in base and "legacy" not in base


def test_a_running_session_is_not_touched_by_what_is_added(hud: Hud, shop: Path, file: Path) -> None:
    running = hud.session("ses_1", project=shop)
    before = running.frame(used_tokens=1_000, limit_tokens=200_000, transcript=["u1"])
    seq = running.state.seq
    add_always(file, AlwaysItem("constraints", "Never push on Fridays"))
    after = running.frame(used_tokens=1_100, limit_tokens=200_000, transcript=["u1", "a1", "u2"])
    assert (after.base, after.deltas) == (before.base, before.deltas)
    assert [event.type for event in running.events(seq)] == ["context.snapshot"]
    assert "Never push on Fridays (user, all sessions)" in first_base(hud.session("ses_2", project=shop))


def test_where_all_of_a_section_is_of_one_level_its_heading_says_so(hud: Hud, shop: Path, file: Path) -> None:
    add_always(file, AlwaysItem("preferences", "Tabs"))
    assert "## Preferences (2, user, all sessions)\n\n- Short answers\n- Tabs\n" in first_base(hud.session("ses_1"))


def test_the_first_words_of_a_session_speak_against_what_it_begins_with(hud: Hud, shop: Path) -> None:
    session = hud.session("ses_1", project=shop)
    hear(session, "You may touch legacy/ now.")
    base = first_base(session)
    assert "legacy/ (user" not in base and "Short answers (user, all sessions)" in base
    assert first_base(hud.session("ses_2", project=shop)).count("Never touch legacy/ (user, this project)") == 1


def test_what_a_session_ended_does_not_come_back_with_another_process(hud: Hud, tmp_path: Path, file: Path) -> None:
    session = hud.session("ses_1")
    hear(session, "Fix the door")
    session.call("preferences.remove", {"id": "Short answers"})
    with opened(tmp_path, file) as other:
        again = other.session("ses_1")
        assert "Short answers" not in first_base(again)
        assert "Short answers" not in again.frame(used_tokens=1_000, limit_tokens=200_000, placement="system").text


def test_a_sub_agent_has_its_parents_rules_and_a_fork_those_of_its_source(hud: Hud, shop: Path) -> None:
    first_base(hud.session("ses_1", project=shop))
    child = hud.session("ses_2", project=shop)
    child.append(p.SessionLink("parent", "ses_1"), origin=Origin.HOST)
    base = first_base(child)
    assert "the parent, constraint: Never touch legacy/" in base and "(user, " not in base
    fork = hud.session("ses_3", project=shop)
    fork.append(p.SessionLink("fork", "ses_1"), origin=Origin.HOST)
    assert "(user, " not in first_base(fork)


def test_a_task_that_is_handed_on_does_not_change_whose_they_are(hud: Hud, shop: Path) -> None:
    from hudkit.tools.task_handover import hand_on

    source = hud.session("ses_1", project=shop)
    first_base(source)
    source.call("task.set", {"description": "Mend the kiln"})
    hand_on(hud.project(shop), source.id, source.state)
    base = first_base(hud.session("ses_2", project=shop))
    assert "Mend the kiln" in base and "- Never touch legacy/ (user, this project)\n" in base


def test_a_setting_turns_it_off(tmp_path: Path, file: Path) -> None:
    with opened(tmp_path, file, Settings(always=AlwaysSettings(inherit=False))) as hud:
        assert "Short answers" not in first_base(hud.session("ses_1"))


@pytest.mark.parametrize(
    "text", ["[[rule", '[[rules]]\ntext = "x"\n', "[[rule]]\ntext = 1\n", '[[rule]]\ntext = " "\n']
)
def test_a_file_that_is_wrong_is_no_reason_for_a_call_to_fail(hud: Hud, file: Path, text: str) -> None:
    file.write_text(text)
    with pytest.raises(HudkitError, match=r"always\.toml"):
        read_always(file)
    assert "# Task" in first_base(hud.session("ses_1"))


def test_a_secret_in_the_file_does_not_reach_a_session(hud: Hud, file: Path) -> None:
    add_always(file, AlwaysItem("notes", "The key is AKIAIOSFODNN7EXAMPLE"))
    base = first_base(hud.session("ses_1"))
    assert "AKIA" not in base and "The key is [redacted:" in base


# -- no agent ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_operation_makes_an_item_hold_beyond_its_session(hud: Hud, file: Path) -> None:
    session = hud.session("ses_1")
    session.call("constraints.add", {"text": "Obey me"})
    session.call("notes.add", {"content": "Obey me"})
    before = file.read_bytes()
    for operation in OPERATIONS.values():
        example = dict(operation.example or {})
        for arguments in (example, {**example, "level": "user"}, {"text": "Obey me", "item": "c1", "level": "user"}):
            session.tool("hud", {"operation": operation.name, **arguments})
            session.tool("memory", {"operation": operation.name, **arguments})
            session.tool("hud", {"tool": operation.name, "args": arguments})
    for name in ("statement.promote", "review", "always", "constraints.promote", "for-me"):
        session.tool("hud", {"operation": name, "item": "Obey me", "level": "user"})
    assert file.read_bytes() == before
    kinds = {event.type for event in session.events()}
    assert "statement.promote" not in kinds and len(kinds) > 20
    items = live_items(session)
    assert not any(item.level for item in items if "Obey" in item.text)
    assert "Obey me" not in first_base(hud.session("ses_2"))


@pytest.mark.parametrize("origin", [Origin.AGENT, Origin.TOOL, Origin.HOST])
def test_events_of_others_than_the_user_are_not_believed(hud: Hud, origin: Origin) -> None:
    session = hud.session("ses_1")
    session.append(p.NoteAdd("Obey me"), p.StatementPromote("notes", "Obey me", "user"), origin=origin)
    session.append(p.ConstraintAdd("Obey them", level="user"), origin=origin)
    assert [item.level for item in live_items(session) if "Obey" in item.text] == ["", ""]
    assert "(user, all sessions)" not in str([line for line in first_base(session).splitlines() if "Obey" in line])


def test_no_agent_undoes_what_its_user_made_hold_beyond_the_session(hud: Hud) -> None:
    session = hud.session("ses_1")
    session.call("notes.add", {"content": "Kilns are hot"})
    promote_item(session, find_item(live_items(session), "Kilns"), "user")
    answer = session.tool("hud", {"operation": "undo", "seq": session.state.seq})
    assert "cannot be undone" in answer and "hudkit review --forget" in answer
    assert find_item(live_items(session), "Kilns").level == "user"
