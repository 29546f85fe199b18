"""How full the window is, by what is told with a call and what was reported before."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.compose import Band
from hudkit.config import BandSettings, Settings
from hudkit.context.caching.policies import CachePolicy, policy_for
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, net_saving
from hudkit.context.compaction.pruning import (
    PROTECTED,
    PruneChoice,
    choose_pruning,
    prune_bounds,
    prune_candidates,
    stub_text,
)
from hudkit.hud.frame_request import FrameRequest
from hudkit.log.payloads import OutputsPrune, PrunedOutput, RequestParts, ToolOutputTotal
from hudkit.sections.call_history import MAX_READINGS
from hudkit.sections.state import HudState
from hudkit.tokens.usage import Floors, Trend, Usage, trend_of, usage_of
from hudkit.tokens.windows import OverflowRule, window_of


def last_shown_band(state: HudState) -> Band:
    """The band that the agent was last told."""
    call = state.window.call
    return Band(call.band) if call and call.band else Band.UNKNOWN


def call_usage(state: HudState, ask: FrameRequest, settings: Settings) -> Usage:
    """The window in use: as told with the call, else as last reported."""
    return window_usage_of(state, settings, ask.used_tokens, ask.limit_tokens, ask.model)


def window_usage_of(
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
        floors=band_floors(settings.bands),
        previous=last_shown_band(state),
        slack=settings.bands.hysteresis,
    )


def usage_trend(state: HudState, usage: Usage, settings: Settings) -> Trend | None:
    """How usage moves, by the last readings and what is told with the call."""
    readings = [one.used_tokens for one in state.window.readings]
    if usage.used_tokens is not None and readings[-1:] != [usage.used_tokens]:
        readings.append(usage.used_tokens)
    return trend_of(readings[-MAX_READINGS:], usage, band_floors(settings.bands))


def band_floors(bands: BandSettings) -> Floors:
    """The least percentage of each band, fullest first."""
    return ((Band.CRITICAL, bands.critical), (Band.RED, bands.red), (Band.YELLOW, bands.yellow), (Band.GREEN, 0.0))


# -- Whether a call is the time to rebase, or to let old outputs go: a state and a call as the cost model takes them.


PER_CHARACTER = 0.25
"""Tokens of a character of the transcript, about."""
RETOLD = 2_000
"""Characters of an output, at most, that a host hands over at a compaction (OpenCode)."""
MANY = 1_000
"""Blocks behind the base, for the model: out of a breakpoint's reach."""
DEBT = 0.5
"""The share of a delta's tokens that a new base does without: superseded lines, and each block's own tag."""


def rebase_pays(state: HudState, ask: FrameRequest, settings: Settings, usage: Usage) -> bool:
    """Whether a new base, with the deltas folded in, is cheaper than to carry them on; only where a turn starts."""
    debt = DEBT * sum(delta.tokens for delta in state.epoch.deltas)
    if not ask.where.turn_start or not debt:
        return False
    policy = policy_for(ask.model or state.window.model)[0]
    cold = is_cold(state, ask, settings, policy)
    if not cold and ask.parts is None:
        return False  # how much stands behind the base is not known
    now = call_costs(state, ask, usage, cold=cold)
    base = state.epoch.base.tokens if state.epoch.base else 0
    behind = now.load - now.fixed + base
    return net_saving(PrefixChange(debt, behind, MANY), now, policy) > 0


def is_cold(state: HudState, ask: FrameRequest, settings: Settings, policy: CachePolicy) -> bool:
    """Whether the provider's cache has nothing of the last call any more: a change of what was sent costs nothing."""
    if ask.model and state.window.model and ask.model != state.window.model:
        return True
    ttl = policy.ttl_ms if settings.cache.ttl_minutes is None else settings.cache.ttl_minutes * 60_000
    return ask.now - state.window.call_at >= ttl


def call_costs(state: HudState, ask: FrameRequest, usage: Usage, *, cold: bool) -> CallCosts:
    """The figures of a call; where the host tells nothing of its transcript, only of the window in use."""
    parts = ask.parts
    fixed = state.epoch.base.tokens if state.epoch.base else 0
    raw = sum(one.size for one in ask.outputs)
    words = 0
    if parts is not None:
        fixed += round(((parts.system or 0) + (parts.tools or 0)) * PER_CHARACTER)
        words = parts.words
    gone = state.pruned_outputs.calls
    left = words + sum(one.size for one in ask.outputs if one.call not in gone)
    told = words + sum(min(one.size, RETOLD) for one in ask.outputs if one.call not in gone)
    estimate = fixed + left * PER_CHARACTER
    load = max(float(ask.used_tokens or state.window.used_tokens or 0), estimate)
    messages = max(1, len(ask.where.anchors or ()), state.window.calls if not parts else 0)
    return CallCosts(
        load=load,
        fixed=fixed,
        pace=(words + raw) * PER_CHARACTER / messages,
        growth=max(0.0, load - fixed) / messages,
        calls=max(1, state.window.calls, messages // 2),
        usable=usage.usable,
        retold=told / left if left else 1.0,
        cold=cold,
    )


def prune_now(
    state: HudState, ask: FrameRequest, settings: Settings, usage: Usage, rewritten: bool
) -> OutputsPrune | None:
    """What leaves the window with this call; `None` where nothing does. `rewritten`: its base is a new one, so that
    nothing behind it can be read from the cache."""
    rule = settings.pruning
    if not rule.enabled or not ask.outputs or ask.notice:
        return None
    policy = policy_for(ask.model or state.window.model)[0]
    idle = is_cold(state, ask, settings, policy)
    bounds = prune_bounds(usage.limit_tokens, rule.protected_tokens, rule.min_freed_tokens)
    kept = (*PROTECTED, *rule.tools, *(one.by_call for one in state.errors.open if one.by_call))
    found = prune_candidates(ask.outputs, state.pruned_outputs.calls, kept, bounds.protect, PER_CHARACTER)
    if not found:
        return None
    choice = choose_pruning(found, call_costs(state, ask, usage, cold=idle or rewritten), policy, bounds)
    return None if choice is None else _event(state, ask, choice, "idle" if idle else "base" if rewritten else "pays")


def _event(state: HudState, ask: FrameRequest, choice: PruneChoice, reason: str) -> OutputsPrune:
    sizes = {one.call: one.size for one in ask.outputs}
    first = state.pruned_outputs.count + 1
    stubs = tuple(
        PrunedOutput(one.call, stub_text(number, one.tool, sizes[one.call]))
        for number, one in enumerate(choice.outputs, first)
    )
    return OutputsPrune(
        stubs,
        reason,
        round(choice.freed),
        round(choice.again),
        round(choice.saves),
        per_thousand=round(1_000 * PER_CHARACTER),
    )


def carried(ask: FrameRequest, stubs: Sequence[PrunedOutput]) -> RequestParts | None:
    """What the request carries once the stubs stand in it."""
    parts = ask.parts
    lengths = {one.call: len(one.text) for one in stubs}
    if parts is None or not lengths:
        return parts
    tools = {one.tool: one.size for one in parts.outputs}
    for one in ask.outputs:
        if one.call in lengths and one.tool in tools:
            tools[one.tool] += lengths[one.call] - one.size
    outputs = tuple(ToolOutputTotal(tool, max(0, size)) for tool, size in tools.items())
    return msgspec.structs.replace(parts, outputs=outputs)
