"""An agent that is compacted again and again and gets nothing done is told so."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import CompactionSettings, Settings
from hudkit.log import Origin
from hudkit.log import payloads as p

ADVICE = "No file was edited and no step finished before any of the last {} compactions"


@pytest.fixture
def session() -> HudSession:
    session = Hud.in_memory().session("s")
    session.append(p.TaskSet("Move the parser"), p.StepAdd("Read it"))
    return session


def compact(session: HudSession, times: int = 1) -> str:
    """The base of the first call after so many compactions."""
    for _ in range(times):
        session.append(p.CompactAfter("as before"), origin=Origin.HOST)
    return session.frame(transcript=["a"]).base


def test_three_compactions_without_progress_are_told(session: HudSession) -> None:
    assert "No file was edited" not in compact(session, 2)
    assert ADVICE.format(3) in compact(session)
    assert ADVICE.format(4) in compact(session)


@pytest.mark.parametrize("done", [p.FileEdit("a.py"), p.StepComplete("s1"), p.CommitMade("0123abc", "Move it")])
def test_progress_ends_it(session: HudSession, done: p.Payload) -> None:
    compact(session, 3)
    session.append(done)
    assert "No file was edited" not in compact(session, 2)
    assert ADVICE.format(3) in compact(session)


def test_reading_is_no_progress(session: HudSession) -> None:
    compact(session, 2)
    session.append(p.FileOpen("a.py"))
    assert ADVICE.format(3) in compact(session)


def test_a_compaction_that_was_undone_does_not_count(session: HudSession) -> None:
    compact(session, 2)
    (last,) = session.append(p.CompactAfter("once more"), origin=Origin.HOST)
    session.append(p.CompactUndone(last.seq), origin=Origin.HOST)
    assert "No file was edited" not in session.frame(transcript=["a"]).base
    assert ADVICE.format(3) in compact(session)


@pytest.mark.parametrize(("allowed", "told"), [(0, False), (1, True)])
def test_the_user_says_after_how_many(allowed: int, told: bool) -> None:
    settings = Settings(compaction=CompactionSettings(idle_compactions=allowed))
    session = Hud.in_memory(settings=settings).session("s")
    assert (ADVICE.format(1) in compact(session)) is told
