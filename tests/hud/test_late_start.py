"""A session that began without a HUD: its first base stands at the end, and nothing that was cached moves."""

from __future__ import annotations

from typing import Any

from hudkit.api import Hud, HudSession
from hudkit.context.budget import LATE_START_TOKENS
from hudkit.log.payloads import CompactAfter, NoteAdd, TaskSet

LONG = [("user:1:", "user"), ("assistant:2:c1", "tool"), ("assistant:3:", "assistant"), ("user:4:", "user")]


def begun(**more: Any) -> tuple[HudSession, Any]:
    session = Hud.in_memory().session("ses_1")
    session.append(TaskSet("Port the report"))
    return session, session.frame(transcript=LONG, used_tokens=150_000, limit_tokens=200_000, **more)


def test_the_first_base_of_a_long_session_stands_at_its_end() -> None:
    session, first = begun()
    assert first.base == ""
    ((delta),) = first.deltas
    assert (delta.id, delta.anchor, delta.form) == ("1.0", "user:4:", "user")
    assert "Port the report" in delta.text and first.text.startswith(delta.text)
    # It stays where it is, and changes go behind it.
    session.append(NoteAdd("staging is slow"))
    more = [*LONG, ("assistant:5:c2", "tool"), ("user:6:", "user")]
    second = session.frame(transcript=more, used_tokens=151_000, limit_tokens=200_000)
    assert second.base == "" and second.deltas[0] == delta
    assert "staging is slow" in second.deltas[1].text and second.deltas[1].anchor == "user:6:"
    assert session.frame_at(session.state.seq) == second


def test_the_next_epoch_has_its_base_in_the_system_prompt() -> None:
    session, _ = begun()
    session.append(CompactAfter(summary="what was"))
    after = session.frame(transcript=[("assistant:7:", "assistant"), ("user:8:", "user")], used_tokens=30_000)
    assert "Port the report" in after.base and after.deltas == ()


def test_a_base_whose_message_is_gone_stands_at_the_end_again() -> None:
    session, _ = begun()
    other = [*LONG[:3], ("user:9:", "user")]
    again = session.frame(transcript=other, used_tokens=150_000, limit_tokens=200_000, history=())
    assert again.base == "" and [delta.anchor for delta in again.deltas] == ["user:9:"]
    assert again.epoch == 2
    assert session.state.epoch.base is not None and session.state.epoch.base.reason == "anchor"


def test_a_session_that_begins_now_or_is_short_has_it_in_the_system_prompt() -> None:
    for transcript, used in (
        (LONG, LATE_START_TOKENS - 1),
        (LONG, None),
        (LONG[:1], 150_000),
        (None, 150_000),
    ):
        session = Hud.in_memory().session("ses_1")
        frame = session.frame(transcript=transcript, used_tokens=used, limit_tokens=200_000)
        assert frame.base and frame.deltas == (), (transcript, used)


def test_in_the_system_prompt_is_in_the_system_prompt() -> None:
    assert begun(placement="system")[1].base
