"""Densities, bands, and the scale that leads from one to the other: the fuller the window, the less is said."""

from __future__ import annotations

from enum import StrEnum


class Density(StrEnum):
    """How much of a section is said, the most first."""

    FULL = "full"
    COMPACT = "compact"
    MINIMAL = "minimal"


class Band(StrEnum):
    """A name for the share of the window in use."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"
    CRITICAL = "critical"
    UNKNOWN = "unknown"  # no host has reported a usage yet


BAND_FLOORS: tuple[tuple[Band, float], ...] = (
    (Band.CRITICAL, 92),
    (Band.RED, 85),
    (Band.YELLOW, 70),
    (Band.GREEN, 0),
)
"""The least percentage of each band, the fullest first. Source: the design (green < 70 %, yellow < 85 %, red < 92 %).
"""

DENSITIES: dict[Band, Density] = {
    Band.GREEN: Density.FULL,
    Band.UNKNOWN: Density.FULL,
    Band.YELLOW: Density.COMPACT,
    Band.RED: Density.MINIMAL,
    Band.CRITICAL: Density.MINIMAL,
}
"""The density of each band. Source: 001. Where the usage is unknown nothing is taken away."""


def band_of(percent: float, floors: tuple[tuple[Band, float], ...] = BAND_FLOORS) -> Band:
    """Return the band of a percentage of the window in use; a percentage is not rounded up into a band."""
    # From the fullest down: the first floor that is reached is the band.
    for band, floor in floors:
        if percent >= floor:
            return band
    return Band.GREEN


def denser(density: Density) -> Density | None:
    """Return the next density that says less, `None` after the last."""
    order = list(Density)
    following = order.index(density) + 1
    return order[following] if following < len(order) else None
