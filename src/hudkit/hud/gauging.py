"""How full the window is, by what is told with a call and what was reported before."""

from __future__ import annotations

from hudkit.compose import Band
from hudkit.config import BandSettings, Settings
from hudkit.hud.asking import Ask
from hudkit.sections.call_history import MAX_READINGS
from hudkit.sections.state import HudState
from hudkit.tokens.overflow import OverflowRule
from hudkit.tokens.trend import Trend, trend_of
from hudkit.tokens.usage import Floors, Usage, usage_of
from hudkit.tokens.windows import window_of


def told_band(state: HudState) -> Band:
    """The band that the agent was last told."""
    call = state.window.call
    return Band(call.band) if call and call.band else Band.UNKNOWN


def usage_now(state: HudState, ask: Ask, settings: Settings) -> Usage:
    """The window in use: as told with the call, else as last reported."""
    return usage_in(state, settings, ask.used_tokens, ask.limit_tokens, ask.model)


def usage_in(
    state: HudState, settings: Settings, used: int | None = None, limit: int | None = None, model: str = ""
) -> Usage:
    """The window in use, as last reported where it is not given."""
    window = window_of(
        model or state.window.model or state.session.model,
        host=limit or state.window.limit_tokens,
        user=settings.window,
        host_output=state.window.output_tokens or None,
    )
    # Only a host that told its output limit is known to compact: without it, bands are of the whole window alone.
    compacts = settings.overflow.auto and bool(state.window.output_tokens)
    return usage_of(
        used if used is not None else state.window.used_tokens,
        window,
        rule=OverflowRule(automatic=compacts, reserved=settings.overflow.reserved_tokens),
        floors=floors(settings.bands),
        previous=told_band(state),
        slack=settings.bands.hysteresis,
    )


def trend_now(state: HudState, usage: Usage, settings: Settings) -> Trend | None:
    """How usage moves, by the last readings and what is told with the call."""
    readings = [one.used_tokens for one in state.window.readings]
    if usage.used_tokens is not None and readings[-1:] != [usage.used_tokens]:
        readings.append(usage.used_tokens)
    return trend_of(readings[-MAX_READINGS:], usage, floors(settings.bands))


def floors(bands: BandSettings) -> Floors:
    """The least percentage of each band, fullest first."""
    return ((Band.CRITICAL, bands.critical), (Band.RED, bands.red), (Band.YELLOW, bands.yellow), (Band.GREEN, 0.0))
