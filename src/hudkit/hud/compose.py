"""State and a call's arguments to a frame, and to the events that the call leaves in the log. Pure.

The rules are contract 2 (budget) and contract 3 (cache) of the design: a base that is frozen for an epoch, deltas
that stay where they were first sent, a tail at the start of a turn.
"""

from __future__ import annotations

from hudkit.compose import Band
from hudkit.context.compaction.thrash import advice
from hudkit.hud.asking import Ask, Composed, Desk, Layers
from hudkit.hud.assembly import assemble, mark_of
from hudkit.hud.epochs import kept_of, new_epoch, same_epoch
from hudkit.hud.gauging import told_band, trend_now, usage_now
from hudkit.hud.prune import carried, prune_now
from hudkit.log.payloads import Call, ContextSnapshot, FrameBase
from hudkit.sections.document_builder import band_text, tail_document, trend_text, usage_text
from hudkit.sections.state import HudState
from hudkit.tokens.usage import Usage

RENDERER = "1"
"""Version of what this room and the rooms below make of a state; recorded with each call."""


def compose(state: HudState, ask: Ask, desk: Desk) -> Composed:
    """The frame of one call. Raises `BudgetError` where not even the smallest frame fits."""
    composed = _compose(state, ask, desk, additive=True)
    if composed.frame.tokens <= composed.frame.budget:
        return composed
    # Parts that add up to more than their sum (a block that begins with a slash can): a new base, measured whole.
    return _compose(state, ask, desk, additive=False)


def _compose(state: HudState, ask: Ask, desk: Desk, *, additive: bool) -> Composed:
    usage = usage_now(state, ask, desk.settings)
    budget = ask.budget if ask.budget is not None else desk.settings.budget_for(usage.limit_tokens)
    late = kept_of(state.epoch, ask.have) is not None
    entered = usage.band != told_band(state) or late
    words = usage_text(
        usage.used_tokens, usage.limit_tokens, assumed=usage.source == "assumed", estimated=_rough(state)
    )
    words += band_text(usage.band, entered)
    tail = ""
    if ask.where.turn_start or ask.placement == "system" or ask.notice:
        # In the system prompt, every byte that moves costs all that is behind it.
        trend = None if ask.placement == "system" else trend_now(state, usage, desk.settings)
        ahead = trend_text(trend.pace, trend.calls_left, trend.band) if trend else ""
        if ask.placement != "system":
            ahead += advice(state.compaction_history, desk.settings.compaction)
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


def _finish(state: HudState, ask: Ask, desk: Desk, budget: int, usage: Usage, layers: Layers) -> Composed:
    mark = mark_of(layers.base, layers.count)
    rewritten = any(isinstance(one, FrameBase) for one in layers.record)
    pruned = prune_now(state, ask, desk.settings, usage, rewritten)
    stubs = (*state.pruned_outputs.stubs, *(pruned.stubs if pruned else ()))
    frame = assemble(
        layers.base, layers.deltas, layers.tail, desk.typeset, budget, usage.band, mark, layers.dropped, stubs
    )
    sent = ask.sent({one.call: len(one.text) for one in stubs}) if ask.sent else None
    call = Call(
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
    return Composed(frame, () if again else (*layers.record, *((pruned,) if pruned else ()), taken))
