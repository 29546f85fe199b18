"""State and a call's arguments to a frame, and to the events that the call leaves in the log. Pure.

The rules are contract 2 (budget) and contract 3 (cache) of the design: a base that is frozen for an epoch, deltas
that stay where they were first sent, a tail at the start of a turn.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from hudkit.components import Board, Changes, Known, View, block, changes, gauge, reading, warning
from hudkit.config import Bands, Settings
from hudkit.document import DENSITIES, Band, Density, denser
from hudkit.errors import BudgetError
from hudkit.events.payloads import Call, ContextSnapshot, FrameBase, FrameDelta, Left, Payload
from hudkit.frames import Delta, Fitted, Frame, Omission, Place, fit, join, shown
from hudkit.hud.typeset import Typeset
from hudkit.projections.state import HudState
from hudkit.tokens.overflow import OverflowRule
from hudkit.tokens.usage import Floors, Usage, usage_of
from hudkit.tokens.windows import window_of

RENDERER = "1"
"""Version of what this room and the rooms below make of a state; recorded with each call."""

TAIL_ROOM = 40
"""Tokens that a base leaves for the tail."""

DELTA_SHARE = 0.4
DELTA_MOST = 600
"""The share of the budget, and the most tokens, that a base leaves for the deltas of its epoch."""


class Ask(msgspec.Struct, frozen=True):
    """A call's arguments. `tag` is used if a new epoch begins, `now` is Unix ms; `notice` says what is wrong with the
    HUD itself."""

    used_tokens: int | None
    limit_tokens: int | None
    budget: int | None
    density: Density | None
    placement: str
    where: Place
    tag: str
    now: int = 0
    model: str = ""
    notice: str = ""


class Composed(msgspec.Struct, frozen=True):
    """A frame, and the events to be recorded before it is sent (none: the same call was recorded already)."""

    frame: Frame
    record: tuple[Payload, ...]


class Desk(msgspec.Struct, frozen=True):
    """What composing needs beside the state and the call."""

    typeset: Typeset
    board: Board
    settings: Settings
    state_at: Callable[[int], HudState]
    known: Known


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
    entered = usage.band != told_band(state)
    words = reading(usage.used_tokens, usage.limit_tokens, assumed=usage.source == "assumed", estimated=_rough(state))
    words += warning(usage.band, entered)
    tail = ""
    if ask.where.turn_start or ask.placement == "system" or ask.notice:
        tail = desk.typeset.render(gauge(words, ask.notice))
    layers = None
    if additive and ask.placement != "system":
        layers = _same_epoch(state, ask, desk, budget, tail, _alarm(entered, usage, words))
    if layers is None:
        layers = _new_epoch(state, ask, desk, budget, tail, DENSITIES[usage.band], additive)
    return _finish(state, ask, desk, budget, usage, layers)


def told_band(state: HudState) -> Band:
    """The band that the agent was last told."""
    call = state.window.call
    return Band(call.band) if call and call.band else Band.UNKNOWN


def usage_now(state: HudState, ask: Ask, settings: Settings) -> Usage:
    """The window in use: as told with the call, else as last reported."""
    window = window_of(
        ask.model or state.window.model or state.session.model,
        host=ask.limit_tokens or state.window.limit_tokens,
        user=settings.window,
        host_output=state.window.output_tokens or None,
    )
    used = ask.used_tokens if ask.used_tokens is not None else state.window.used_tokens
    # Only a host that told its output limit is known to compact: without it, bands are of the whole window alone.
    compacts = settings.overflow.auto and bool(state.window.output_tokens)
    return usage_of(
        used,
        window,
        rule=OverflowRule(automatic=compacts, reserved=settings.overflow.reserved),
        floors=floors(settings.bands),
        previous=told_band(state),
        slack=settings.bands.hysteresis,
    )


class _Layers(msgspec.Struct, frozen=True):
    base: FrameBase
    deltas: tuple[FrameDelta, ...]
    tail: str
    record: tuple[Payload, ...] = ()
    dropped: tuple[Omission, ...] = ()


def floors(bands: Bands) -> Floors:
    """The least percentage of each band, fullest first."""
    return ((Band.CRITICAL, bands.critical), (Band.RED, bands.red), (Band.YELLOW, bands.yellow), (Band.GREEN, 0.0))


def _rough(state: HudState) -> bool:
    return state.window.source == "estimated"


def _alarm(entered: bool, usage: Usage, words: str) -> str:
    """The line by which a change of band travels within a turn."""
    worth_telling = usage.band not in (Band.UNKNOWN, Band.GREEN)
    return f"context now: {words}" if entered and worth_telling else ""


def _same_epoch(state: HudState, ask: Ask, desk: Desk, budget: int, tail: str, alarm: str) -> _Layers | None:
    """The layers of one more call of the epoch that is in force; `None` where a new one has to begin."""
    epoch = state.epoch
    base = epoch.base
    if base is None or epoch.over or base.placement != ask.placement or _cold(state, ask, desk.settings):
        return None
    if _other_density(state, ask, base):
        return None
    ids = shown(((delta.id, delta.anchor) for delta in epoch.deltas), ask.where)
    deltas = tuple(delta for delta in epoch.deltas if delta.id in ids)
    covers = _covered(base, epoch.deltas, ids)
    new = None
    if not ask.notice:  # what cannot be recorded is not told, and the past cannot be read
        new = _delta(state, ask, desk, changes(desk.state_at(covers), state, desk.known), alarm, covers)
    cost = base.tokens + sum(delta.tokens for delta in deltas) + (new.tokens if new else 0)
    if cost > budget:
        return None
    dropped: tuple[Omission, ...] = ()
    need = desk.typeset.count(tail)
    if cost + need > budget:
        if not ask.notice:
            return None
        tail, dropped = "", (_no_tail(tail, need, budget),)
    return _Layers(base, (*deltas, new) if new else deltas, tail, (new,) if new else (), dropped)


def _other_density(state: HudState, ask: Ask, base: FrameBase) -> bool:
    """Whether a density is asked for that the base does not have, and not because it did not fit when last asked."""
    call = state.window.call
    asked = call.density if call else None
    return ask.density is not None and ask.density != base.density and ask.density != asked


def _cold(state: HudState, ask: Ask, settings: Settings) -> bool:
    """Whether a new base costs nothing: a turn starts, there is something to fold in, and the cache has expired."""
    idle = ask.now - state.window.call_at
    return ask.where.turn_start and bool(state.epoch.deltas) and idle >= settings.cache.minutes * 60_000


def _delta(state: HudState, ask: Ask, desk: Desk, found: Changes, alarm: str, since: int) -> FrameDelta | None:
    """The block of what is to be told now: pressing changes at once, the others at the start of a turn."""
    lines = found.lines if found.pressing or ask.where.turn_start or alarm else ()
    if alarm and not ask.where.turn_start:
        lines = (*lines, alarm)
    if not lines:
        return None
    base = state.epoch.base
    assert base is not None
    text = desk.typeset.render(block(base.tag, lines))
    return FrameDelta(
        id=f"{base.epoch}.{len(state.epoch.deltas) + 1}",
        epoch=base.epoch,
        anchor=ask.where.last,
        form=ask.where.form,
        text=text,
        tokens=desk.typeset.count(text),
        covers=state.seq,
        since=since,
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


def _new_epoch(
    state: HudState, ask: Ask, desk: Desk, budget: int, tail: str, density: Density, additive: bool
) -> _Layers:
    """A base of the state as it is now, within its part of the budget, and no deltas."""
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
            epoch=state.epoch.number + 1,
            tag=tag,
            text=text,
            tokens=fitted.tokens if system else desk.typeset.count(text),
            density=density.value,
            placement=ask.placement,
            budget=budget,
            covers=state.seq,
            reason=_reason(state, ask, desk.settings),
            omitted=tuple(Left(one.path, one.text[:200], one.tokens, one.reason) for one in fitted.omitted),
        )
    dropped: tuple[Omission, ...] = ()
    if base.tokens + need > budget:
        tail, dropped = "", (_no_tail(tail, need, budget),)
    return _Layers(base, (), tail, () if base is old else (base,), dropped)


def _fit_base(
    state: HudState, density: Density, room: int, budget: int, tag: str, desk: Desk, additive: bool
) -> tuple[Fitted, Density]:
    """The document at `density`, or at the next one that fits; the smallest may use the whole budget."""
    at: Density | None = density
    while at is not None:
        document = desk.board.document(state, View(at, desk.settings.limits), tag)
        try:
            bound = desk.typeset.bound if additive else None
            return fit(document, room, desk.typeset.measure, bound=bound), at
        except BudgetError:
            density, at = at, denser(at)
    return fit(document, budget, desk.typeset.measure), density


def _reason(state: HudState, ask: Ask, settings: Settings) -> str:
    base = state.epoch.base
    if base is None:
        return "session"
    if state.epoch.over:
        return state.epoch.over
    if base.placement != ask.placement or ask.placement == "system":
        return "placement"
    if _other_density(state, ask, base):
        return "density"
    return "idle" if _cold(state, ask, settings) else "budget"


def _no_tail(tail: str, need: int, budget: int) -> Omission:
    return Omission("/tail", tail.strip(), need, f"costs {need} tokens, and base and deltas left less of {budget}")


def _finish(state: HudState, ask: Ask, desk: Desk, budget: int, usage: Usage, layers: _Layers) -> Composed:
    frame = assemble(layers.base, layers.deltas, layers.tail, desk.typeset, budget, usage.band, layers.dropped)
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
    )
    again = (
        not layers.record
        and state.window.call == call
        and state.window.call_seq == state.seq
        and (ask.used_tokens is None or ask.used_tokens == state.window.used_tokens)
        and (ask.limit_tokens is None or ask.limit_tokens == state.window.limit_tokens)
    )
    return Composed(frame, () if again else (*layers.record, taken))


def assemble(
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail: str,
    typeset: Typeset,
    budget: int,
    band: Band,
    dropped: tuple[Omission, ...] = (),
) -> Frame:
    """A frame of recorded layers; its tokens are counted once on the whole."""
    text = join(base.text, *(delta.text for delta in deltas), tail)
    omitted = tuple(Omission(one.path, one.text, one.tokens, one.reason) for one in base.omitted)
    return Frame(
        text=text,
        tokens=typeset.count(text),
        base=base.text,
        deltas=tuple(Delta(delta.id, delta.anchor, delta.text, delta.form) for delta in deltas),
        tail=tail,
        omitted=(*omitted, *dropped),
        density=Density(base.density),
        band=band,
        budget=budget,
        epoch=base.epoch,
        tag=base.tag,
    )


def rebuilt(state: HudState, typeset: Typeset) -> Frame | None:
    """The frame of the call that the state ends with, from what was recorded; `None` where it ends with none."""
    call, base = state.window.call, state.epoch.base
    if call is None or base is None or state.window.call_seq != state.seq or base.epoch != call.epoch:
        return None
    deltas = tuple(delta for delta in state.epoch.deltas if delta.id in call.shown)
    return assemble(base, deltas, call.tail, typeset, call.budget, Band(call.band or "unknown"))
