"""What a call asks for, where it stands in its host's transcript, and the facts that follow from it and the state.

A call's facts are worked out once, by `resolve_facts`, and handed from step to step: the layers, the pruning and the
assembly of a frame ask nobody else how full the window is or whether the provider's cache is cold.

**The idea.** Facts hang on one another, so the order in which they are resolved is fixed: usage first, from the
call or the last report, with the band that was shown last; from the band the density; from the model's name the
rules of its cache; from these and the time since the last call whether the cache is cold; and what a call costs
only where a decision hangs on it, since that reads the whole transcript's sizes.

**Example.** Claude, a window of 200,000 tokens. Call 1 reports 120,000: 60 %, green, so density full; the budget is
2 % of the window, cut to 1,500. There was no call before, so the cache is cold. Call 2 comes a minute later with a
new note and 150,000 tokens: 75 %, yellow, so a new base would be compact, and the band is told, because green was
shown last. The cache is warm (it lasts 5 minutes): the note goes out as a delta. Call 3, the start of a turn, comes
6 minutes later: the cache is cold, all is written anew anyway, and half of the delta's tokens can be saved, so
`rebase_pays` and epoch 2 begins, with the reason `idle`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from hudkit.compose import Band, Density
from hudkit.config import BandSettings, BudgetSettings, Settings
from hudkit.context.budget import BAND_SHARES, TOKENS_PER_CHARACTER
from hudkit.context.caching.policies import CachePolicy, policy_for
from hudkit.context.compaction.cost_model import CallCosts, PrefixChange, estimate_costs, net_saving
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.errors import ConfigError
from hudkit.log.event import Event
from hudkit.log.payloads import RequestParts, SentTranscript
from hudkit.sections.call_history import MAX_READINGS, WindowState
from hudkit.sections.state import HudState
from hudkit.tokens.model_facts import OverflowRule, Window, window_of
from hudkit.tokens.usage import Floors, Trend, Usage, trend_of, usage_of

DELTA_FORMS = {"tool": "tool", "user": "user"}
"""How a delta is carried, by the role of the message that it is anchored to."""

BLOCKS_BEHIND_BASE = 1_000
"""Content blocks behind the base, for the cost model: out of a breakpoint's reach, however many there are."""

KEPT_PLACEMENTS = ("kept", "conversation")
"""Placements in hosts that keep every block where it was first put, the base in the system prompt or among them."""

SUPERSEDED_SHARE = 0.5
"""The share of a delta's tokens that a new base does without: superseded lines, and each block's own tag."""


# -- where a call stands in a transcript -----------------------------------------------------------------------


class TranscriptMessage(msgspec.Struct, frozen=True):
    """A message of a host's transcript, as far as frames need it: its opaque anchor and its role
    (`user`, `assistant` or `tool`)."""

    anchor: str
    role: str = "user"


class TranscriptPosition(msgspec.Struct, frozen=True):
    """Where a call stands: the anchors in its transcript, the last one and its form, and whether a turn starts.

    `anchors` is `None` where the host gives no transcript: then nothing is ever missing from it. `order` has them as
    the transcript has, `users` those of which the host says that they are a user's. `blocks` are the ids of the
    deltas that are there, `EPOCH.0` of a base that stands among them, where the host keeps them itself (`None`: they
    are there where their anchors are).
    """

    anchors: frozenset[str] | None
    last: str
    form: str
    turn_start: bool
    order: tuple[str, ...] = ()
    users: frozenset[str] = frozenset()
    blocks: frozenset[str] | None = None

    def messages_behind(self, anchor: str) -> int:
        """Return how many messages stand behind the one with an anchor; 0 where it is not there."""
        return len(self.order) - 1 - self.order.index(anchor) if anchor in self.order else 0


def transcript_position(
    transcript: Sequence[TranscriptMessage | tuple[str, str] | str] | TranscriptPosition | None,
) -> TranscriptPosition:
    """Return where a call stands that has this transcript: messages in order.

    Each is a `TranscriptMessage`, an `(anchor, role)` pair, or an anchor alone (then of a user's message). A call
    without a transcript is taken for the start of a turn. Raises `ConfigError` for anything else.
    """
    if transcript is None:
        return TranscriptPosition(None, "end", "user", True)
    if isinstance(transcript, TranscriptPosition):
        return transcript
    messages = [_message(entry, n) for n, entry in enumerate(transcript)]
    order = tuple([message.anchor for message in messages])
    users = frozenset(
        [
            message.anchor
            for message, entry in zip(messages, transcript, strict=True)
            if message.role == "user" and not isinstance(entry, str)
        ]
    )
    return position_at_end(order, users, messages[-1].role if messages else "")


def position_at_end(order: tuple[str, ...], users: frozenset[str], last_role: str) -> TranscriptPosition:
    """Return where a call stands behind the messages with these anchors, of which `users` are the user's."""
    if not order:
        return TranscriptPosition(frozenset(), "start", "user", True)
    form = DELTA_FORMS.get(last_role, "user")
    return TranscriptPosition(frozenset(order), order[-1], form, last_role == "user", order, users)


def _message(entry: TranscriptMessage | tuple[str, str] | str, n: int) -> TranscriptMessage:
    match entry:
        case TranscriptMessage():
            return entry
        case str():
            return TranscriptMessage(entry)
        case (str() as anchor, str() as role):
            return TranscriptMessage(anchor, role)
    raise ConfigError(f"transcript[{n}] is {entry!r:.60}", hint="Give a Message, an (anchor, role) pair or an anchor")


def anchored_ids(anchors: Iterable[tuple[str, str]], position: TranscriptPosition) -> tuple[str, ...]:
    """Return, of recorded deltas as `(id, anchor)` in order, the ids of those that are in the transcript."""
    if position.blocks is not None:
        return tuple([id for id, _ in anchors if id in position.blocks])
    present = position.anchors
    return tuple([id for id, anchor in anchors if present is None or anchor in present])


# -- a call, and what comes of it ------------------------------------------------------------------------------


class FrameRequest(msgspec.Struct, frozen=True):
    """A call's arguments, checked.

    `tag` is used if a new epoch begins, `now` is Unix ms; `notice` says what is wrong with the HUD itself;
    `last_mark` is the mark of the newest frame that was sent (empty: all were); `answered` are events since the last
    call of which answers in the last message tell; `sent_prefix` and `parts` are only recorded (`sent_prefix` of the
    sizes that the stubs of pruned calls have); `outputs` are those of the transcript. `tells_usage`: the host itself
    tells the model how many tokens remain. `new_window`: nothing of the calls before is in the window any more, but
    for what the host kept of them word for word; blocks may be among that (`old_blocks`).
    """

    used_tokens: int | None
    limit_tokens: int | None
    budget: int | None
    density: Density | None
    placement: str
    position: TranscriptPosition
    tag: str
    now: int = 0
    model: str = ""
    notice: str = ""
    last_mark: str = ""
    answered: tuple[Event, ...] = ()
    sent_prefix: Callable[[Mapping[str, int]], SentTranscript] | None = None
    parts: RequestParts | None = None
    outputs: tuple[CallOutput, ...] = ()
    tells_usage: bool = False
    new_window: bool = False
    old_blocks: bool = False

    @property
    def is_kept(self) -> bool:
        """Return whether the host keeps each block where it was first put: then there is no tail."""
        return self.placement in KEPT_PLACEMENTS


# -- a call's facts --------------------------------------------------------------------------------------------


class CallFacts(msgspec.Struct, frozen=True):
    """What follows from a call and the state, worked out once.

    `density` is the fullest that is shown: what is asked for, else all. `share_of_band` is the part of a base's share
    that the band leaves it; all of it where a density is asked for. `band_entered`: the agent has to be told of the
    band. `unsent_after` counts the epoch's deltas that were sent, where the last ones were not (`None`: all were).
    `cache_cold`: the provider's cache has nothing of the last call any more, so that a change of what was sent costs
    nothing. `costs` are `None` where no decision hangs on them. `rebase_pays`: a new base, with the deltas folded in,
    is cheaper than to carry them on.
    """

    usage: Usage
    model: str
    budget: int
    density: Density
    share_of_band: float
    band_entered: bool
    unsent_after: int | None
    policy: CachePolicy
    cache_cold: bool
    costs: CallCosts | None
    rebase_pays: bool


def resolve_facts(state: HudState, request: FrameRequest, settings: Settings) -> CallFacts:
    """Return the facts of a call."""
    usage = estimate_usage(state, settings, request.used_tokens, request.limit_tokens, request.model)
    unsent_after = _unsent_after(state, request.last_mark)
    model = request.model or state.model
    policy = policy_for(model)[0]
    cold = _is_cold(state, request, settings, policy)
    superseded = SUPERSEDED_SHARE * sum([delta.tokens for delta in state.epoch.deltas])
    # What stands behind the base is known where the host tells the parts of its request; cold, it does not matter.
    # Where the host keeps the blocks, a new base would take none of them away.
    may_rebase = bool(superseded) and request.position.turn_start and (cold or request.parts is not None)
    may_rebase = may_rebase and not request.is_kept
    costs = _call_costs(state, request, usage, cold) if may_rebase or request.outputs else None
    return CallFacts(
        usage=usage,
        model=model,
        budget=request.budget or default_budget(settings.budget, usage.limit_tokens),
        density=request.density or Density.FULL,
        share_of_band=BAND_SHARES.get(usage.band, 1.0) if request.density is None else 1.0,
        # A band that only a lost frame told of is told again.
        band_entered=usage.band != _last_shown_band(state) or unsent_after is not None,
        unsent_after=unsent_after,
        policy=policy,
        cache_cold=cold and not request.is_kept,
        costs=costs,
        rebase_pays=may_rebase and costs is not None and _rebase_pays(state, superseded, costs, policy),
    )


def default_budget(settings: BudgetSettings, window: int) -> int:
    """Return the budget in tokens for a window of so many: a share of it, between the settings' bounds."""
    share = int(window * settings.percent / 100)
    return max(settings.min_tokens, min(settings.max_tokens, share))


def _last_shown_band(state: HudState) -> Band:
    """Return the band that the agent was last told."""
    call = state.window.call
    return Band(call.band) if call and call.band else Band.UNKNOWN


def estimate_usage(
    state: HudState, settings: Settings, used: int | None = None, limit: int | None = None, model: str = ""
) -> Usage:
    """Return the window in use: as given, in tokens, else as last reported."""
    window = window_in_force(state.window, model or state.model, settings, limit)
    # Only a host that told its output limit is known to compact: without it, bands are of the whole window alone.
    compacts = settings.overflow.auto and bool(state.window.output_tokens)
    return usage_of(
        used if used is not None else state.window.used_tokens,
        window,
        rule=OverflowRule(automatic=compacts, reserved=settings.overflow.reserved_tokens),
        floors=_band_floors(settings.bands),
        previous=_last_shown_band(state),
        slack=settings.bands.hysteresis,
    )


def window_in_force(reported: WindowState, model: str, settings: Settings, limit: int | None = None) -> Window:
    """Return the window of a model: of `limit` tokens where that is given, else as the host reported it before, as
    the settings or a table have it, as compactions showed, or assumed."""
    return window_of(
        model,
        host=limit or reported.limit_tokens,
        user=settings.window,
        by_model=settings.windows,
        host_output=reported.output_tokens or None,
        observed=reported.observed_limit,
    )


def usage_trend(state: HudState, usage: Usage, settings: Settings) -> Trend | None:
    """Return how usage moves, by the last readings and what is told with the call; `None` of too few readings."""
    readings = [reading.used_tokens for reading in state.window.readings]
    if usage.used_tokens is not None and readings[-1:] != [usage.used_tokens]:
        readings.append(usage.used_tokens)
    return trend_of(readings[-MAX_READINGS:], usage, _band_floors(settings.bands))


def _band_floors(bands: BandSettings) -> Floors:
    return ((Band.CRITICAL, bands.critical), (Band.RED, bands.red), (Band.YELLOW, bands.yellow), (Band.GREEN, 0.0))


def _unsent_after(state: HudState, last_mark: str) -> int | None:
    """How many of the epoch's deltas were sent, where the last ones were not."""
    number, _, count = last_mark.partition(".")
    if not count or int(number) != state.epoch.number or int(count) >= len(state.epoch.deltas):
        return None
    return int(count)


def _is_cold(state: HudState, request: FrameRequest, settings: Settings, policy: CachePolicy) -> bool:
    """Whether the provider's cache has nothing of the last call any more."""
    if request.model and state.window.model and request.model != state.window.model:
        return True
    minutes = settings.cache.ttl_minutes
    ttl_ms = policy.ttl_ms if minutes is None else minutes * 60_000
    return request.now - state.window.call_at >= ttl_ms


def _call_costs(state: HudState, request: FrameRequest, usage: Usage, cold: bool) -> CallCosts:
    """The figures of a call; where the host tells nothing of its transcript, only of the window in use."""
    parts = request.parts
    fixed = state.epoch.base.tokens if state.epoch.base else 0
    if parts is not None:
        fixed += round(((parts.system or 0) + (parts.tools or 0)) * TOKENS_PER_CHARACTER)
    messages = max(1, len(request.position.anchors or ()), state.window.calls if not parts else 0)
    return estimate_costs(
        request.outputs,
        state.pruned_outputs.calls,
        words=parts.words if parts is not None else 0,
        fixed=fixed,
        used=request.used_tokens or state.window.used_tokens,
        messages=messages,
        calls=max(1, state.window.calls, messages // 2),
        usable=usage.usable,
        cold=cold,
    )


def _rebase_pays(state: HudState, superseded: float, costs: CallCosts, policy: CachePolicy) -> bool:
    base = state.epoch.base.tokens if state.epoch.base else 0
    behind = costs.load - costs.fixed + base
    return net_saving(PrefixChange(superseded, behind, BLOCKS_BEHIND_BASE), costs, policy) > 0
