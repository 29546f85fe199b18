"""Usage, its bands, and the hysteresis between them (A3, contract 8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.compose.density import BAND_FLOORS, Band, band_of
from hudkit.context.compaction.cooldown import is_overflow
from hudkit.tokens import OverflowRule, Window, usage_of

OFF = OverflowRule(automatic=False)
WHOLE = Window(200_000, 4_000, None, "host")  # usable 196,000: nearly full at 190,120, which is 95.06 %


@pytest.mark.parametrize(
    ("used", "percent", "band"),
    [
        (0, 0.0, Band.GREEN),
        (139_999, 69.9995, Band.GREEN),
        (140_000, 70.0, Band.YELLOW),
        (169_999, 84.9995, Band.YELLOW),
        (170_000, 85.0, Band.RED),
        (183_999, 91.9995, Band.RED),
        (184_000, 92.0, Band.CRITICAL),
        (230_000, 115.0, Band.CRITICAL),
        (None, None, Band.UNKNOWN),
    ],
)
def test_bands_of_the_whole_window(used, percent, band):
    found = usage_of(used, WHOLE)
    assert (found.percent, found.band) == (percent, band)
    assert (found.used_tokens, found.limit_tokens, found.usable, found.source) == (used, 200_000, 196_000, "host")


@pytest.mark.parametrize(
    ("used", "band"), [(131_919, Band.GREEN), (131_920, Band.CRITICAL), (136_000, Band.CRITICAL)]
)
def test_critical_when_the_usable_window_is_nearly_full(used, band):
    """64,000 tokens of output leave 136,000 usable, 68 % of the window; 97 % of that is 131,920."""
    assert usage_of(used, Window(200_000, 64_000, None, "table")).band is band


def test_without_automatic_compaction_only_the_window_counts():
    found = usage_of(136_000, Window(200_000, 64_000, None, "table"), rule=OFF)
    assert (found.usable, found.band) == (None, Band.GREEN)


@pytest.mark.slow
@given(
    limit=st.integers(1, 2_000_000),
    output=st.none() | st.integers(1, 200_000),
    inputs=st.none() | st.integers(1, 2_000_000),
    used=st.integers(0, 2_500_000),
    previous=st.sampled_from(Band),
)
@settings(deadline=None, max_examples=500)
def test_critical_never_comes_after_the_overflow(limit, output, inputs, used, previous):
    window = Window(limit, output, inputs, "host")
    if is_overflow(used, window):
        assert usage_of(used, window, previous=previous).band is Band.CRITICAL


def shown_band(previous, percent):
    """The band at so many per cent of a window that is never compacted."""
    used = None if percent is None else round(percent * 10_000)
    never = OverflowRule(automatic=False)
    return usage_of(used, Window(1_000_000, None, None, "host"), rule=never, previous=previous).band


@pytest.mark.parametrize(
    ("previous", "percent", "band"),
    [
        (Band.YELLOW, 69.0, Band.YELLOW),
        (Band.YELLOW, 68.0, Band.YELLOW),
        (Band.YELLOW, 67.9, Band.GREEN),
        (Band.RED, 83.5, Band.RED),
        (Band.RED, 82.9, Band.YELLOW),
        (Band.CRITICAL, 90.0, Band.CRITICAL),
        (Band.CRITICAL, 89.9, Band.RED),
        (Band.CRITICAL, 84.0, Band.RED),  # within two points of red's floor
        (Band.CRITICAL, 40.0, Band.GREEN),
        (Band.GREEN, 70.0, Band.YELLOW),
        (Band.GREEN, 93.0, Band.CRITICAL),
        (Band.YELLOW, 92.0, Band.CRITICAL),
        (Band.UNKNOWN, 69.0, Band.GREEN),
        (Band.RED, None, Band.UNKNOWN),
    ],
)
def test_up_at_once_and_down_with_slack(previous, percent, band):
    assert shown_band(previous, percent) is band


def test_the_nearly_full_floor_has_slack_too():
    window = Window(200_000, 64_000, None, "table")
    assert usage_of(131_000, window, previous=Band.CRITICAL).band is Band.CRITICAL
    assert usage_of(127_900, window, previous=Band.CRITICAL).band is Band.GREEN


def test_usage_that_swings_round_a_floor_changes_the_band_once():
    band, changes = Band.GREEN, 0
    for percent in [69.5, 70.1, 69.4, 70.3, 68.6, 70.0, 69.9] * 20:
        band, before = shown_band(band, percent), band
        changes += band is not before
    assert (band, changes) == (Band.YELLOW, 1)


@given(used=st.integers(0, 1_500_000), previous=st.sampled_from(Band))
@settings(deadline=None)
def test_settling_never_shows_less_pressure_than_there_is(used, previous):
    percent = 100 * used / 1_000_000
    rank = [band for band, _ in BAND_FLOORS]
    shown = shown_band(previous, percent)
    assert rank.index(shown) <= rank.index(band_of(percent))
    assert shown_band(shown, percent) is shown


def test_floors_can_be_set():
    floors = ((Band.CRITICAL, 50), (Band.RED, 40), (Band.YELLOW, 30), (Band.GREEN, 0))
    assert usage_of(80_000, WHOLE, floors=floors).band is Band.RED
    assert usage_of(77_000, WHOLE, floors=floors, previous=Band.RED).band is Band.RED, "38.5 %"
