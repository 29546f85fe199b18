"""What of a transcript was sent before, and which message departs first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.context.caching import Piece, compare
from hudkit.log.payloads import Departure, Sent

ASK = Piece("user:1:", "user", 100)
READ = Piece("assistant:2:c1", "tool", 5_000)
EDIT = Piece("assistant:3:c2", "tool", 700)
DONE = Piece("assistant:4:", "assistant", 50)
MORE = Piece("user:5:", "user", 30)
OTHER = Piece("user:6:", "user", 40)
DAY = (ASK, READ, EDIT, DONE)

CASES = {
    "nothing to compare with": (None, DAY, Sent(4, 5_850, 50)),
    "the first one, after nothing": ((), (ASK,), Sent(1, 100, 100, 0)),
    "the same again": (DAY, DAY, Sent(4, 5_850, 50, 5_850)),
    "growth": (DAY, (*DAY, MORE), Sent(5, 5_880, 30, 5_850)),
    "an earlier end": (DAY, (ASK, READ), Sent(2, 5_100, 5_000, 5_100)),
    "a cleared output": (
        DAY,
        (ASK, Piece(READ.anchor, "cleared", 40), EDIT, DONE, MORE),
        Sent(5, 920, 30, 100, Departure(READ.anchor, "cleared", "changed", 1, 5_000, 40, 750)),
    ),
    "a reverted message, and another one": (
        (*DAY, MORE),
        (*DAY, OTHER),
        Sent(5, 5_890, 40, 5_850, Departure(MORE.anchor, "user", "gone", 4, 30, 0, 0)),
    ),
    "one taken from the middle": (
        DAY,
        (ASK, EDIT, DONE),
        Sent(3, 850, 50, 100, Departure(READ.anchor, "tool", "gone", 1, 5_000, 0, 750)),
    ),
    "one put in front": (
        DAY,
        (MORE, *DAY),
        Sent(5, 5_880, 50, 0, Departure(MORE.anchor, "user", "new", 0, 0, 30, 5_850)),
    ),
    "a summary instead of all": (
        DAY,
        (OTHER, MORE),
        Sent(2, 70, 30, 0, Departure(ASK.anchor, "user", "gone", 0, 100, 0, 0)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_departs(name: str) -> None:
    before, now, wanted = CASES[name]
    assert compare(before, now) == wanted


LISTS = st.lists(st.builds(Piece, st.sampled_from("abcd"), st.just("user"), st.integers(1, 3)), max_size=8)


@given(LISTS, LISTS)
def test_kept_is_the_longest_common_beginning(before: list[Piece], now: list[Piece]) -> None:
    found = compare(before, now)
    place = max(n for n in range(min(len(before), len(now)) + 1) if before[:n] == now[:n])
    assert found.kept == sum(piece.size for piece in now[:place])
    assert (found.first is None) is (place in (len(before), len(now)))
    if found.first:
        assert found.first.place == place
        assert 0 <= found.first.again <= found.size - found.kept
