"""The trend of usage: its pace, and the calls until the next band."""

from __future__ import annotations

import pytest

from hudkit.compose import Band
from hudkit.compose.density import BAND_FLOORS
from hudkit.tokens.model_facts import Window
from hudkit.tokens.usage import trend_of, usage_of

K = 1000
WINDOW = Window(200 * K, None, None, "host")


def told(*readings: int) -> tuple[str, int | None, Band | None] | None:
    trend = trend_of([one * K for one in readings], usage_of(readings[-1] * K, WINDOW), BAND_FLOORS)
    return None if trend is None else (trend.pace, trend.calls_left, trend.band)


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ((10,), None),
        ((10, 20), None),
        ((100, 100, 100), ("stable", None, None)),
        ((100, 100, 101, 101), ("stable", None, None)),
        ((100, 102, 104), ("growing", 18, Band.YELLOW)),
        ((10, 12, 14), ("growing", None, None)),  # 63 calls away
        ((100, 110, 120), ("growing fast", 2, Band.YELLOW)),
        ((119, 129, 139), ("growing fast", 1, Band.YELLOW)),
        ((120, 130, 140), ("growing fast", 3, Band.RED)),
        ((150, 160, 170), ("growing fast", 2, Band.CRITICAL)),
        ((180, 190, 199), ("growing fast", None, None)),
        ((100, 102, 150, 152, 154), ("growing", 8, Band.RED)),  # one jump is no habit
        ((150, 140, 60), ("stable", None, None)),
    ],
)
def test_trend(readings: tuple[int, ...], expected: tuple[str, int | None, Band | None] | None) -> None:
    assert told(*readings) == expected
