"""When another compaction is refused, and what is foretold of one that is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.api import Hud, HudSession
from hudkit.config import CompactionSettings
from hudkit.context.compaction.cooldown import cooldown_refusal, ineffective_advice
from hudkit.context.compaction.receipts import announcement, forecast_compaction
from hudkit.context.compaction.summaries import MAX_STATIC_CHARS, static_summary, unusable_reason
from hudkit.log import Origin
from hudkit.log import payloads as p
from strategies import payloads

RULES = CompactionSettings()


def compacted(before: int, after: int | None, calls: int = 10) -> HudSession:
    session = Hud.in_memory().session("s")
    call(session, before, "user:1:")
    session.append(p.CompactAfter("so far", "auto"), origin=Origin.HOST)
    if after is not None:
        session.append(p.ContextSnapshot(after, source="reported"), origin=Origin.HOST)
    for n in range(calls):
        session.append(p.NoteAdd(f"note {n}"))
        call(session, None, f"assistant:{n}:", "tool")
    return session


def call(session: HudSession, used: int | None, anchor: str, role: str = "user") -> str:
    frame = session.frame(used_tokens=used, limit_tokens=100_000, model="m", transcript=[(anchor, role)])
    return frame.tail


@pytest.mark.parametrize(
    ("before", "after", "calls", "used", "said"),
    [
        (80_000, 30_000, 10, 60_000, ""),
        (80_000, 70_000, 10, 72_000, "freed 10 %"),
        (80_000, 70_000, 10, 85_000, ""),
        (80_000, 90_000, 10, 95_000, "freed -10 %"),
        (80_000, 30_000, 3, 60_000, "3 model calls ago"),
        (80_000, 30_000, 1, 60_000, "1 model call ago"),
        (80_000, None, 10, 60_000, ""),
    ],
)
def test_what_is_refused(before: int, after: int | None, calls: int, used: int, said: str) -> None:
    found = cooldown_refusal(compacted(before, after, calls).state.compaction_history, used, 100_000, RULES)
    assert (said in found) if said else not found


def test_thresholds_are_settings() -> None:
    rounds = compacted(80_000, 70_000, 3).state.compaction_history
    assert cooldown_refusal(rounds, 72_000, 100_000, CompactionSettings(min_freed_percent=5, cooldown_calls=2)) == ""
    assert "after 4" in cooldown_refusal(
        rounds, 72_000, 100_000, CompactionSettings(min_freed_percent=5, cooldown_calls=4)
    )
    enough, too_little = (CompactionSettings(min_freed_percent=least, cooldown_calls=2) for least in (10, 11))
    assert cooldown_refusal(rounds, 72_000, 100_000, enough) == ""
    assert "freed 10 %" in cooldown_refusal(rounds, 72_000, 100_000, too_little)


@pytest.mark.slow
@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_a_poor_compaction_is_said_once(before: int, after: int) -> None:
    session = compacted(before, after, calls=2)
    thin = before - after < 15_000
    assert thin == bool(ineffective_advice(session.state.compaction_history, RULES))
    tails = [call(session, None, f"user:{n}:") for n in range(3)]
    assert ["freed only" in tail for tail in tails] == [thin, False, False]
    again = session.state_at(session.state.seq)
    assert again.compaction_history == session.state.compaction_history


def test_the_announcement_says_what_stays_and_what_leaves() -> None:
    session = Hud.in_memory().session("s")
    session.append(p.TaskSet("Move it"), p.NoteAdd("one"), p.NoteAdd("two"))
    carried = p.RequestParts(
        10_000, 20_000, 40_000, (p.ToolOutputTotal("bash", 150_000), p.ToolOutputTotal("read", 9_000))
    )
    session.frame(used_tokens=70_000, limit_tokens=100_000, model="m", parts=carried)
    found = forecast_compaction(session.state, 70_000, 100_000)
    assert found.frees is not None and 40_000 < found.frees < 60_000
    text = announcement(session.state, found)
    assert "70 % of the window" in text and "the task, 2 notes" in text and "most by bash, read" in text
    assert "not known" in announcement(session.state, forecast_compaction(Hud.in_memory().session("t").state, 5, 10))


@pytest.mark.parametrize(
    ("text", "finish", "why"),
    [
        ("", "stop", "empty"),
        (" \n", "", "empty"),
        ("I'm sorry, but I can't help with that.", "stop", "refusal"),
        ("I cannot assist with summarizing this.", "stop", "refusal"),
        ("half", "content-filter", "filtered"),
        ("Summary number 1, in my own words.", "stop", ""),
        ("I cannot find the bug yet: the port is 8143.", "stop", ""),
        ("## Goal\nI'm sorry, I can't help it", "stop", ""),
    ],
)
def test_what_is_no_summary(text: str, finish: str, why: str) -> None:
    found = unusable_reason(text, finish)
    assert (why in found) if why else not found


@pytest.mark.slow
@given(st.lists(payloads, max_size=25), st.booleans())
def test_a_static_summary_is_bounded_and_from_the_log(told: list[p.Payload], shown: bool) -> None:
    session = Hud.in_memory().session("s")
    session.append(*told)
    text = static_summary(session.state, ["the last words"], shown=shown)
    assert len(text) <= MAX_STATIC_CHARS and text.endswith("") and "## Last requests\n- the last words" in text
    if session.state.task and not shown:
        assert text.startswith("## Task\n")
    for line in text.splitlines():
        assert not line or line.startswith(("## ", "- "))
    if shown:
        assert "## Task" not in [line for line in text.splitlines() if line.startswith("## ")]
