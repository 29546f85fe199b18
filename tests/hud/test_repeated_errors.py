"""A failure that comes again is told again where its words are others, and not where its numbers alone are."""

from __future__ import annotations

import pytest

from hudkit import Hud
from hudkit.log.event import Origin
from hudkit.log.payloads import ErrorEncountered


@pytest.mark.parametrize(
    ("origin", "again", "told"),
    [
        (Origin.TOOL, "make test: 2 failed, in 0.9 s", False),
        (Origin.TOOL, "make test: cannot import calc", True),
        (Origin.AGENT, "make test: 2 failed, in 0.9 s", True),
    ],
)
def test_the_same_failure_with_other_numbers_waits_for_the_next_base(origin: Origin, again: str, told: bool) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        messages = [("u1", "user")]
        session.frame(2_000, 200_000, transcript=messages)
        for number, message in enumerate(("make test: 3 failed, in 1.2 s", again), 2):
            session.append(ErrorEncountered(message, key="make test"), origin=origin)
            messages += [(f"a{number}", "assistant"), (f"u{number}", "user")]
            frame = session.frame(2_000, 200_000, transcript=messages)
            assert number > 2 or "make test: 3 failed" in frame.deltas[-1].text
        assert (again in frame.deltas[-1].text) == told
        assert again in session.frame_after_compaction().base
