"""State and a call's arguments to a frame, and to the events that the call leaves in the log. Pure.

The rules are contract 2 (budget) and contract 3 (cache) of the design: a base that is frozen for an epoch, deltas
that stay where they were first sent, a tail at the start of a turn.
"""

from __future__ import annotations

import msgspec

from hudkit.compose import DENSITIES, Band, Density, denser
from hudkit.compose.fitting import FitResult, Omission, fit
from hudkit.config import Settings
from hudkit.context.caching.policies import policy_for
from hudkit.context.compaction.cooldown import ineffective_advice
from hudkit.errors import BudgetError
from hudkit.hud.call_facts import call_usage, carried, is_cold, last_shown_band, prune_now, rebase_pays, usage_trend
from hudkit.hud.frame import assemble_frame, frame_mark
from hudkit.hud.frame_request import BuiltFrame, ComposeContext, FrameLayers, FrameRequest, anchored_ids
from hudkit.log.payloads import (
    ContextSnapshot,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OmittedItem,
    Payload,
)
from hudkit.sections.call_history import EpochState
from hudkit.sections.document_builder import (
    StateChanges,
    band_text,
    delta_document,
    diff_states,
    tail_document,
    trend_text,
    usage_text,
)
from hudkit.sections.section import ViewOptions
from hudkit.sections.state import HudState, preview_state
from hudkit.tokens.usage import Usage

# -- The layers of a call: one more of the epoch that is in force, or a new one.


TAIL_ROOM = 40
"""Tokens that a base leaves for the tail."""

DELTA_SHARE = 0.25
DELTA_MOST = 400
"""The share of the budget, and the most tokens, that a base leaves for the deltas of its epoch."""


def same_epoch(
    state: HudState, ask: FrameRequest, desk: ComposeContext, usage: Usage, budget: int, tail: str, alarm: str
) -> FrameLayers | None:
    """The layers of one more call of the epoch that is in force; `None` where a new one has to begin."""
    epoch = state.epoch
    base = epoch.base
    if base is None or epoch.over or base.placement != ask.placement or _other_density(state, ask, base):
        return None
    if rebase_pays(state, ask, desk.settings, usage):
        return None
    kept = sent_delta_count(epoch, ask.have)
    sent = epoch.deltas[:kept]
    ids = anchored_ids(((delta.id, delta.anchor) for delta in sent), ask.where)
    deltas = tuple(delta for delta in sent if delta.id in ids)
    covers = _covered(base, sent, ids)
    new = None
    if not ask.notice:  # what cannot be recorded is not told, and the past cannot be read
        new = _delta(state, ask, desk, _news(state, ask, desk, covers, deltas), alarm, covers, len(sent) + 1)
    cost = base.tokens + sum(delta.tokens for delta in deltas) + (new.tokens if new else 0)
    if cost > budget:
        return None
    dropped: tuple[Omission, ...] = ()
    need = desk.typeset.count(tail)
    if cost + need > budget:
        if not ask.notice:
            return None
        tail, dropped = "", (_no_tail(tail, need, budget),)
    record: tuple[Payload, ...] = () if kept is None else (FrameUnsent(base.epoch, kept),)
    if new:
        deltas, record = (*deltas, new), (*record, new)
    return FrameLayers(base, deltas, tail, record, dropped, len(sent) + bool(new))


def sent_delta_count(epoch: EpochState, have: str) -> int | None:
    """How many of the epoch's deltas were sent, where the last ones were not."""
    number, _, count = have.partition(".")
    if not count or int(number) != epoch.number or int(count) >= len(epoch.deltas):
        return None
    return int(count)


class _News(msgspec.Struct, frozen=True):
    """What is to be told; `heard`: something more has changed, of which the transcript tells."""

    changes: StateChanges
    heard: bool


def _news(
    state: HudState, ask: FrameRequest, desk: ComposeContext, covers: int, deltas: tuple[FrameDelta, ...]
) -> _News:
    before = desk.state_at(covers)
    told = [desk.event_at(seq) for delta in deltas for seq in delta.heard]
    said = [event for event in (*told, *ask.said) if event is not None and event.seq > covers]
    heard = preview_state(said, before) if said else None
    return _News(diff_states(before, state, desk.known, heard), heard is not None)


def _other_density(state: HudState, ask: FrameRequest, base: FrameBase) -> bool:
    """Whether a density is asked for that the base does not have, and not because it did not fit when last asked."""
    call = state.window.call
    asked = call.density if call else None
    return ask.density is not None and ask.density != base.density and ask.density != asked


def _delta(
    state: HudState, ask: FrameRequest, desk: ComposeContext, news: _News, alarm: str, since: int, n: int
) -> FrameDelta | None:
    """The block of what is to be told now: pressing changes at once, the others at the start of a turn. What the
    transcript tells is left out; a block without text says so."""
    found = news.changes
    lines = found.lines if found.pressing or ask.where.turn_start or alarm else ()
    if alarm and not ask.where.turn_start:
        lines = (*lines, alarm)
    waits = bool(found) and not lines
    if not lines and not ask.said and (waits or not news.heard):
        return None
    base = state.epoch.base
    assert base is not None
    text = desk.typeset.render(delta_document(base.tag, lines)) if lines else ""
    return FrameDelta(
        id=f"{base.epoch}.{n}",
        epoch=base.epoch,
        anchor=ask.where.last,
        form=ask.where.form,
        text=text,
        tokens=desk.typeset.count(text) if text else 0,
        covers=since if waits else state.seq,
        since=since,
        heard=tuple(event.seq for event in ask.said) if waits else (),
    )


def _covered(base: FrameBase, deltas: tuple[FrameDelta, ...], ids: tuple[str, ...]) -> int:
    """Up to which event a reader of the base and the shown deltas knows all; a delta that was told after a gap,
    from before it, closes it."""
    reach = before = base.covers
    for delta in deltas:
        since = before if delta.since < 0 else delta.since
        if delta.id in ids and since <= reach:
            reach = max(reach, delta.covers)
        before = delta.covers
    return reach


def new_epoch(
    state: HudState, ask: FrameRequest, desk: ComposeContext, usage: Usage, budget: int, tail: str, additive: bool
) -> FrameLayers:
    """A base of the state as it is now, within its part of the budget, and no deltas."""
    density = DENSITIES[usage.band]
    system = ask.placement == "system"
    tag = "" if system else ask.tag
    need = desk.typeset.count(tail)
    room = budget - need if system else budget - max(need, TAIL_ROOM) - min(int(budget * DELTA_SHARE), DELTA_MOST)
    fitted, density = _fit_base(state, ask.density or density, max(room, budget // 2), budget, tag, desk, additive)
    text = desk.typeset.render(fitted.tree)
    old = state.epoch.base
    if system and old is not None and old.placement == "system" and old.text == text and not state.epoch.over:
        base = old
    else:
        base = FrameBase(
            epoch=max(state.epoch.number, state.epoch.last) + 1,
            tag=tag,
            text=text,
            tokens=fitted.tokens if system else desk.typeset.count(text),
            density=density.value,
            placement=ask.placement,
            budget=budget,
            covers=state.seq,
            reason=_reason(state, ask, desk.settings, usage),
            omitted=tuple(OmittedItem(one.path, one.text[:200], one.tokens, one.reason) for one in fitted.omitted),
        )
    dropped: tuple[Omission, ...] = ()
    if base.tokens + need > budget:
        tail, dropped = "", (_no_tail(tail, need, budget),)
    return FrameLayers(base, (), tail, () if base is old else (base,), dropped)


def _fit_base(
    state: HudState, density: Density, room: int, budget: int, tag: str, desk: ComposeContext, additive: bool
) -> tuple[FitResult, Density]:
    """The document at `density`, or at the next one that fits; the smallest may use the whole budget."""
    at: Density | None = density
    while at is not None:
        document = desk.board.document(state, ViewOptions(at, desk.settings.limits, desk.settings.staleness), tag)
        try:
            bound = desk.typeset.bound if additive else None
            return fit(document, room, desk.typeset.measure, bound=bound), at
        except BudgetError:
            density, at = at, denser(at)
    return fit(document, budget, desk.typeset.measure), density


def _reason(state: HudState, ask: FrameRequest, settings: Settings, usage: Usage) -> str:
    base = state.epoch.base
    if base is None and state.epoch.over != "redaction":
        return "session"
    if base is None or state.epoch.over:
        return state.epoch.over
    if base.placement != ask.placement or ask.placement == "system":
        return "placement"
    if _other_density(state, ask, base):
        return "density"
    if not rebase_pays(state, ask, settings, usage):
        return "budget"
    return "idle" if is_cold(state, ask, settings, policy_for(ask.model or state.window.model)[0]) else "pays"


def _no_tail(tail: str, need: int, budget: int) -> Omission:
    return Omission("/tail", tail.strip(), need, f"costs {need} tokens, and base and deltas left less of {budget}")


RENDERER = "1"
"""Version of what this room and the rooms below make of a state; recorded with each call."""


def build_frame(state: HudState, ask: FrameRequest, desk: ComposeContext) -> BuiltFrame:
    """The frame of one call. Raises `BudgetError` where not even the smallest frame fits."""
    composed = _build(state, ask, desk, additive=True)
    if composed.frame.tokens <= composed.frame.budget:
        return composed
    # Parts that add up to more than their sum (a block that begins with a slash can): a new base, measured whole.
    return _build(state, ask, desk, additive=False)


def _build(state: HudState, ask: FrameRequest, desk: ComposeContext, *, additive: bool) -> BuiltFrame:
    usage = call_usage(state, ask, desk.settings)
    budget = ask.budget if ask.budget is not None else desk.settings.budget_for(usage.limit_tokens)
    late = sent_delta_count(state.epoch, ask.have) is not None
    entered = usage.band != last_shown_band(state) or late
    words = usage_text(
        usage.used_tokens, usage.limit_tokens, assumed=usage.source == "assumed", estimated=_rough(state)
    )
    words += band_text(usage.band, entered)
    tail = ""
    if ask.where.turn_start or ask.placement == "system" or ask.notice:
        # In the system prompt, every byte that moves costs all that is behind it.
        trend = None if ask.placement == "system" else usage_trend(state, usage, desk.settings)
        ahead = trend_text(trend.pace, trend.calls_left, trend.band) if trend else ""
        if ask.placement != "system":
            ahead += ineffective_advice(state.compaction_history, desk.settings.compaction)
        tail = desk.typeset.render(tail_document(words + ahead, ask.notice))
    layers = None
    if additive and ask.placement != "system":
        layers = same_epoch(state, ask, desk, usage, budget, tail, _alarm(entered, usage, words))
    if layers is None:
        layers = new_epoch(state, ask, desk, usage, budget, tail, additive)
    return _finish(state, ask, desk, budget, usage, layers)


def _rough(state: HudState) -> bool:
    return state.window.source == "estimated"


def _alarm(entered: bool, usage: Usage, words: str) -> str:
    """The line by which a change of band travels within a turn."""
    worth_telling = usage.band not in (Band.UNKNOWN, Band.GREEN)
    return f"context now: {words}" if entered and worth_telling else ""


def _finish(
    state: HudState, ask: FrameRequest, desk: ComposeContext, budget: int, usage: Usage, layers: FrameLayers
) -> BuiltFrame:
    mark = frame_mark(layers.base, layers.count)
    rewritten = any(isinstance(one, FrameBase) for one in layers.record)
    pruned = prune_now(state, ask, desk.settings, usage, rewritten)
    stubs = (*state.pruned_outputs.stubs, *(pruned.stubs if pruned else ()))
    frame = assemble_frame(
        layers.base, layers.deltas, layers.tail, desk.typeset, budget, usage.band, mark, layers.dropped, stubs
    )
    sent = ask.sent({one.call: len(one.text) for one in stubs}) if ask.sent else None
    call = FrameArguments(
        budget=budget,
        placement=ask.placement,
        counter=desk.typeset.counter.name,
        renderer=RENDERER,
        epoch=layers.base.epoch,
        density=ask.density.value if ask.density else None,
        shown=tuple(delta.id for delta in layers.deltas),
        turn_start=ask.where.turn_start,
        band=usage.band.value,
        tail=layers.tail,
        tokens=frame.tokens,
    )
    taken = ContextSnapshot(
        used_tokens=ask.used_tokens,
        limit_tokens=ask.limit_tokens,
        model=ask.model,
        source="reported" if ask.used_tokens is not None else "",
        call=call,
        sent=sent,
        parts=carried(ask, stubs),
    )
    again = (
        not layers.record
        and pruned is None
        and (sent is None or sent.kept in (None, sent.size))
        and state.window.call == call
        and state.window.call_seq == state.seq
        and (ask.used_tokens is None or ask.used_tokens == state.window.used_tokens)
        and (ask.limit_tokens is None or ask.limit_tokens == state.window.limit_tokens)
    )
    return BuiltFrame(frame, () if again else (*layers.record, *((pruned,) if pruned else ()), taken))
