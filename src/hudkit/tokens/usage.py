"""How full the window is: usage, its band, and how fast it fills (A3, A4, contract 8).

**Bands with hysteresis.** A band begins at its floor (yellow at 70 % of the window), and usage that swings round a
floor would change the band at every call; each change costs a delta in the agent's transcript. So a band is entered
at its floor at once, and left downward only when usage is `HYSTERESIS` points below that floor. Example, with the
floor of yellow at 70 and 2 points: 71 % is yellow; then 69 % stays yellow, since 69 + 2 is not below 70; 67 % is
green again; and 69 % after that stays green. Critical has a second floor, nearly the end of what is usable: so it
never comes after the host's own compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil
from typing import Literal

import msgspec

from hudkit.compose.density import BAND_FLOORS, Band, band_of
from hudkit.tokens.model_facts import DEFAULT_RULE, OverflowRule, Source, Window, usable_of

Floors = tuple[tuple[Band, float], ...]
"""The least percentage of each band, fullest first."""

NEARLY_FULL_PERCENT = 97.0
"""Per cent of the usable window from which usage is critical: before the host compacts, late enough to be true."""

HYSTERESIS = 2.0
"""Percentage points below its floor at which a band is left downward."""

STABLE_BELOW, FAST_FROM = 0.5, 3.0
"""Percentage points of the window a call: below the first usage is stable, from the second on it grows fast."""

FORECAST_CALLS = 50
"""Calls beyond which nothing is forecast: so far ahead a few readings say nothing."""

MIN_READINGS = 3
"""Readings from which a trend is told: of two, one large output passes for a habit."""

Pace = Literal["stable", "growing", "growing fast"]


class Usage(msgspec.Struct, frozen=True):
    """Tokens in use against a window.

    `used_tokens`, `percent` (of the whole window, not rounded, above 100 where it is overrun) and the band
    are unknown until a host has reported; `usable` is `None` where the host does not compact by itself.
    `source` says who gave the limit; `assumed` must be shown.
    """

    used_tokens: int | None
    limit_tokens: int
    usable: int | None
    percent: float | None
    band: Band
    source: Source


def usage_of(
    used: int | None,
    window: Window,
    *,
    rule: OverflowRule = DEFAULT_RULE,
    floors: Floors = BAND_FLOORS,
    nearly: float = NEARLY_FULL_PERCENT,
    previous: Band = Band.UNKNOWN,
    slack: float = HYSTERESIS,
) -> Usage:
    """Return the usage of a window of which `used` tokens are in use, `None` for unknown.

    `previous` is the band shown last; with it, the band is left downward only with hysteresis.
    """
    usable = usable_of(window, rule)
    percent = None if used is None else 100 * used / window.limit_tokens
    if usable is not None:
        floors = _lowered(floors, nearly * usable / window.limit_tokens)
    return Usage(
        used_tokens=used,
        limit_tokens=window.limit_tokens,
        usable=usable,
        percent=percent,
        band=_settle_band(previous, percent, floors=floors, slack=slack),
        source=window.source,
    )


def _lowered(floors: Floors, ceiling: float) -> Floors:
    """The floors with critical at `ceiling` per cent at the latest: not after the host's compaction (decision 2)."""
    return tuple((band, min(floor, ceiling) if band is Band.CRITICAL else floor) for band, floor in floors)


def _settle_band(
    previous: Band, percent: float | None, *, floors: Floors = BAND_FLOORS, slack: float = HYSTERESIS
) -> Band:
    """Return the band to show: up at once, down only when `slack` points below the floor of the band that is left.

    Unknown usage is `UNKNOWN`, and nothing is remembered across it.
    """
    if percent is None:
        return Band.UNKNOWN
    rank = {band: place for place, (band, _) in enumerate(floors)}  # 0 is the fullest
    fresh = band_of(percent, floors)
    if previous not in rank:
        return fresh
    held = max(previous, band_of(percent + slack, floors), key=rank.__getitem__)  # the emptier of the two
    return min(fresh, held, key=rank.__getitem__)


class Trend(msgspec.Struct, frozen=True):
    """How usage moves: `rate` in tokens a call; `calls_left` until `band` begins, `None` where none is in sight."""

    pace: Pace
    rate: float
    calls_left: int | None = None
    band: Band | None = None


def trend_of(readings: Sequence[int], usage: Usage, floors: Floors) -> Trend | None:
    """Return the trend of the last readings (tokens in use, oldest first, one a call); `None` of fewer than three.

    The rate is the median step, so that one large output does not pass for a habit. `floors` are those of the
    window's bands, fullest first.
    """
    if len(readings) < MIN_READINGS or usage.used_tokens is None:
        return None
    steps = sorted(after - before for before, after in pairwise(readings))
    middle = len(steps) // 2
    rate = steps[middle] if len(steps) % 2 else (steps[middle - 1] + steps[middle]) / 2
    points = 100 * rate / usage.limit_tokens
    if points < STABLE_BELOW:
        return Trend("stable", rate)
    calls, band = _next_band(usage.used_tokens, usage.limit_tokens, floors, rate)
    return Trend("growing fast" if points >= FAST_FROM else "growing", rate, calls, band)


def _next_band(used: int, limit: int, floors: Floors, rate: float) -> tuple[int | None, Band | None]:
    """The calls until the next fuller band begins, and which one it is."""
    for band, floor in reversed(floors):
        missing = floor * limit / 100 - used
        if missing > 0:
            calls = ceil(missing / rate)
            return (calls, band) if calls <= FORECAST_CALLS else (None, None)
    return None, None
