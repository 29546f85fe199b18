"""Sub-agents in a frame: who is at work on what, and who came back with what."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import Origin, Payload
from hudkit.log import payloads as p


@pytest.fixture
def session() -> Iterator[HudSession]:
    with Hud.in_memory() as hud:
        yield hud.session("s")


def heard(session: HudSession, *payloads: Payload) -> None:
    session.append(*payloads, origin=Origin.HOST)


def lines(session: HudSession) -> list[str]:
    text = session.frame(1_000, 200_000, placement="system").text
    _, found, behind = text.partition("## Sub-agents (")
    return behind.split("\n\n")[1].splitlines() if found else []


def test_those_at_work_come_first_then_those_that_came_back(session: HudSession) -> None:
    heard(session, p.SubagentEnd("general", "Write the fixture", "3 files in tests/__data__", session_id="1"))
    heard(session, p.SubagentStart("explore", "Find the callers of plan()", "2", "c2"))
    heard(session, p.SubagentEnd("general", "Port the flags", "no such file", True, by_call="c3"))
    assert lines(session) == [
        "- explore: Find the callers of plan() (at work)",
        "- general: Port the flags (failed): no such file",
        "- general: Write the fixture (came back): 3 files in `tests/__data__`",
    ]
    heard(session, p.SubagentEnd(result="Twelve callers", session_id="2"))
    assert lines(session)[0] == "- explore: Find the callers of plan() (came back): Twelve callers"
    assert "Twelve callers" in session.tool("hud", {"operation": "subagents.list"})


def test_they_fall_away_with_the_second_compaction(session: HudSession) -> None:
    heard(session, p.SubagentEnd("general", "Write the fixture", "3 files"), p.CompactAfter("x"))
    heard(session, p.SubagentStart("explore", "Find the callers", "2"))
    assert len(lines(session)) == 2
    heard(session, p.CompactAfter("y"))
    assert lines(session) == ["- explore: Find the callers (at work)"]
    heard(session, p.CompactAfter("z"))
    assert lines(session) == []


def test_a_running_epoch_is_not_told_what_its_transcript_shows(session: HudSession) -> None:
    first = session.frame(1_000, 200_000, transcript=[("m1", "user")])
    heard(session, p.SubagentEnd("general", "Write the fixture", "3 files"))
    heard(session, p.SubagentStart("explore", "Find the callers", "2"))
    second = session.frame(1_000, 200_000, transcript=[("m1", "user"), ("m2", "assistant"), ("m3", "user")])
    assert (second.base, second.deltas) == (first.base, ())


def test_those_at_work_stay_however_many_come_back(session: HudSession) -> None:
    heard(session, p.SubagentStart("explore", "Find the callers", "0"))
    heard(session, *(p.SubagentEnd("general", f"Part {n}", "done", session_id=f"{n}") for n in range(1, 40)))
    shown = lines(session)
    assert shown[0] == "- explore: Find the callers (at work)" and len(shown) == 12
    assert shown[1] == "- general: Part 39 (came back): done"
