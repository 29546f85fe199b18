"""How much is said (`Density`) and how full the window is (`Band`): the scale that both are read from."""

from __future__ import annotations

from enum import StrEnum


class Density(StrEnum):
    """How much of a section is said."""

    FULL = "full"
    COMPACT = "compact"
    MINIMAL = "minimal"


class Band(StrEnum):
    """Pressure, as a name: the share of the window in use."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


BAND_FLOORS: tuple[tuple[Band, float], ...] = (
    (Band.CRITICAL, 92),
    (Band.RED, 85),
    (Band.YELLOW, 70),
    (Band.GREEN, 0),
)
"""The least percentage of each band, densest first (design: green < 70 %, yellow < 85 %, red < 92 %)."""

DENSITIES: dict[Band, Density] = {
    Band.GREEN: Density.FULL,
    Band.UNKNOWN: Density.FULL,
    Band.YELLOW: Density.COMPACT,
    Band.RED: Density.MINIMAL,
    Band.CRITICAL: Density.MINIMAL,
}
"""The density of each band (001)."""


def band_of(percent: float, floors: tuple[tuple[Band, float], ...] = BAND_FLOORS) -> Band:
    """The band of a percentage of the window in use; a percentage is not rounded up into a band."""
    for band, floor in floors:
        if percent >= floor:
            return band
    return Band.GREEN


def denser(density: Density) -> Density | None:
    """The next density that says less, `None` after the last."""
    order = list(Density)
    place = order.index(density) + 1
    return order[place] if place < len(order) else None
