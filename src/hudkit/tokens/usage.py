"""How full the window is: usage, its band, and the hysteresis between bands (A3, contract 8)."""

from __future__ import annotations

import msgspec

from hudkit.compose.density import BAND_FLOORS, Band, band_of
from hudkit.tokens.overflow import DEFAULT_RULE, OverflowRule, usable_of
from hudkit.tokens.windows import Source, Window

Floors = tuple[tuple[Band, float], ...]
"""The least percentage of each band, fullest first."""

NEARLY_FULL = 97.0
"""Per cent of the usable window from which usage is critical: before the host compacts, late enough to be true."""

SLACK = 2.0
"""Percentage points below its floor at which a band is left downward."""


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
    nearly: float = NEARLY_FULL,
    previous: Band = Band.UNKNOWN,
    slack: float = SLACK,
) -> Usage:
    """The usage of a window of which `used` tokens are in use, `None` for unknown.

    `previous` is the band shown last; with it, the band is left downward only with hysteresis.
    """
    usable = usable_of(window, rule)
    percent = None if used is None else 100 * used / window.limit_tokens
    return Usage(
        used_tokens=used,
        limit_tokens=window.limit_tokens,
        usable=usable,
        percent=percent,
        band=settle(previous, percent, floors=floors_of(window, usable, floors, nearly), slack=slack),
        source=window.source,
    )


def floors_of(
    window: Window, usable: int | None, floors: Floors = BAND_FLOORS, nearly: float = NEARLY_FULL
) -> Floors:
    """The floors for a window: critical begins no later than at `nearly` per cent of what is usable.

    So critical never comes after the host's own compaction (design, decision 2).
    """
    if usable is None:
        return floors
    ceiling = nearly * usable / window.limit_tokens
    return tuple((band, min(floor, ceiling) if band is Band.CRITICAL else floor) for band, floor in floors)


def settle(previous: Band, percent: float | None, *, floors: Floors = BAND_FLOORS, slack: float = SLACK) -> Band:
    """The band to show: up at once, down only when `slack` points below the floor of the band that is left.

    Keeps a delta from being sent at every call by usage that swings round a floor. Unknown usage is
    `UNKNOWN`, and nothing is remembered across it.
    """
    if percent is None:
        return Band.UNKNOWN
    rank = {band: place for place, (band, _) in enumerate(floors)}  # 0 is the fullest
    fresh = band_of(percent, floors)
    if previous not in rank:
        return fresh
    held = max(previous, band_of(percent + slack, floors), key=rank.__getitem__)  # the emptier of the two
    return min(fresh, held, key=rank.__getitem__)
