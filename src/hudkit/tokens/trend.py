"""How fast the window fills, and how many calls are left until its band changes (A4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Literal

import msgspec

from hudkit.compose.density import Band
from hudkit.tokens.usage import Floors, Usage

SLOW, FAST = 0.5, 3.0
"""Percentage points of the window a call: below the first usage is stable, from the second on it grows fast."""

FAR = 50
"""Calls beyond which nothing is forecast: so far ahead a few readings say nothing."""

Pace = Literal["stable", "growing", "growing fast"]


class Trend(msgspec.Struct, frozen=True):
    """`rate` is in tokens a call; `calls_left` are those until `band` begins, `None` where none is in sight."""

    pace: Pace
    rate: float
    calls_left: int | None = None
    band: Band | None = None


def trend_of(readings: Sequence[int], usage: Usage, floors: Floors) -> Trend | None:
    """The trend of the last readings (tokens in use, oldest first, one a call); `None` of fewer than three.

    The rate is the median step, so that one large output does not pass for a habit. `floors` are those of the
    window's bands, fullest first.
    """
    if len(readings) < 3 or usage.used_tokens is None:
        return None
    steps = sorted(after - before for before, after in pairwise(readings))
    middle = len(steps) // 2
    rate = steps[middle] if len(steps) % 2 else (steps[middle - 1] + steps[middle]) / 2
    points = 100 * rate / usage.limit_tokens
    if points < SLOW:
        return Trend("stable", rate)
    calls, band = _next(usage, floors, rate)
    return Trend("growing fast" if points >= FAST else "growing", rate, calls, band)


def calls_until(ceiling: int, used: int, rate: float) -> int | None:
    """The calls until `ceiling` tokens are in use at a rate in tokens a call; `None` where that is too far ahead to
    be said, or usage does not grow."""
    if rate <= 0:
        return None
    calls = max(0, ceil((ceiling - used) / rate))
    return calls if calls <= FAR else None


def _next(usage: Usage, floors: Floors, rate: float) -> tuple[int | None, Band | None]:
    """The calls until the next fuller band begins, and which one it is."""
    assert usage.used_tokens is not None
    for band, floor in reversed(floors):
        missing = floor * usage.limit_tokens / 100 - usage.used_tokens
        if missing > 0:
            calls = ceil(missing / rate)
            return (calls, band) if calls <= FAR else (None, None)
    return None, None
