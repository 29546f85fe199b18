"""What of a transcript was sent before, and which message departs first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.context.caching import Segment, common_prefix
from hudkit.log.payloads import Divergence, SentTranscript

ASK = Segment("user:1:", "user", 100)
READ = Segment("assistant:2:c1", "tool", 5_000)
EDIT = Segment("assistant:3:c2", "tool", 700)
DONE = Segment("assistant:4:", "assistant", 50)
MORE = Segment("user:5:", "user", 30)
OTHER = Segment("user:6:", "user", 40)
DAY = (ASK, READ, EDIT, DONE)

CASES = {
    "nothing to compare with": (None, DAY, SentTranscript(4, 5_850, 50)),
    "the first one, after nothing": ((), (ASK,), SentTranscript(1, 100, 100, 0)),
    "the same again": (DAY, DAY, SentTranscript(4, 5_850, 50, 5_850)),
    "growth": (DAY, (*DAY, MORE), SentTranscript(5, 5_880, 30, 5_850)),
    "an earlier end": (DAY, (ASK, READ), SentTranscript(2, 5_100, 5_000, 5_100)),
    "a cleared output": (
        DAY,
        (ASK, Segment(READ.anchor, "cleared", 40), EDIT, DONE, MORE),
        SentTranscript(5, 920, 30, 100, Divergence(READ.anchor, "cleared", "changed", 1, 5_000, 40, 750)),
    ),
    "a reverted message, and another one": (
        (*DAY, MORE),
        (*DAY, OTHER),
        SentTranscript(5, 5_890, 40, 5_850, Divergence(MORE.anchor, "user", "gone", 4, 30, 0, 0)),
    ),
    "one taken from the middle": (
        DAY,
        (ASK, EDIT, DONE),
        SentTranscript(3, 850, 50, 100, Divergence(READ.anchor, "tool", "gone", 1, 5_000, 0, 750)),
    ),
    "one put in front": (
        DAY,
        (MORE, *DAY),
        SentTranscript(5, 5_880, 50, 0, Divergence(MORE.anchor, "user", "new", 0, 0, 30, 5_850)),
    ),
    "a summary instead of all": (
        DAY,
        (OTHER, MORE),
        SentTranscript(2, 70, 30, 0, Divergence(ASK.anchor, "user", "gone", 0, 100, 0, 0)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_departs(name: str) -> None:
    before, now, wanted = CASES[name]
    assert common_prefix(before, now) == wanted


LISTS = st.lists(st.builds(Segment, st.sampled_from("abcd"), st.just("user"), st.integers(1, 3)), max_size=8)


@given(LISTS, LISTS)
def test_kept_is_the_longest_common_beginning(before: list[Segment], now: list[Segment]) -> None:
    found = common_prefix(before, now)
    place = max(n for n in range(min(len(before), len(now)) + 1) if before[:n] == now[:n])
    assert found.shared_size == sum(piece.size for piece in now[:place])
    assert (found.first is None) is (place in (len(before), len(now)))
    if found.first:
        assert found.first.index == place
        assert 0 <= found.first.reprocessed <= found.size - found.shared_size
