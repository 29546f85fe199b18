"""Strangers with 300 idle connections, slow heads and header bytes without end: memory, and the user's answers (B10).

`python -m bench listeners` has the milliseconds.
"""

from __future__ import annotations

import pytest
from bench.figures import Skipped
from bench.listeners import MAX_MEGABYTES, measure

from campaigns import Campaign

pytestmark = pytest.mark.slow

MEGABYTES = Campaign("listeners", quick=4, full=300)


@MEGABYTES
@pytest.mark.parametrize("listener", ["daemon", "rooms", "mcp"])
def test_strangers_fill_no_memory_and_the_user_is_answered(listener: str) -> None:
    try:
        measured = measure(listener, MEGABYTES.rounds)
    except Skipped as reason:
        pytest.skip(str(reason))
    assert measured.sent_megabytes >= MEGABYTES.rounds and measured.requests
    assert measured.grown_megabytes <= MAX_MEGABYTES
