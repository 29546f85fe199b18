"""The layers of a call: one more of the epoch that is in force, or a new one."""

from __future__ import annotations

import msgspec

from hudkit.compose import DENSITIES, Density, denser
from hudkit.compose.fitting import FitResult, Omission, fit
from hudkit.config import Settings
from hudkit.context.caching.policies import policy_for
from hudkit.errors import BudgetError
from hudkit.hud.anchors import shown
from hudkit.hud.asking import Ask, Desk, Layers
from hudkit.hud.prune import is_cold, rebase_pays
from hudkit.log.payloads import FrameBase, FrameDelta, FrameUnsent, Left, Payload
from hudkit.sections.call_history import EpochState
from hudkit.sections.document_builder import StateChanges, delta_document, diff_states
from hudkit.sections.section import ViewOptions
from hudkit.sections.state import HudState, preview_state
from hudkit.tokens.usage import Usage

TAIL_ROOM = 40
"""Tokens that a base leaves for the tail."""

DELTA_SHARE = 0.25
DELTA_MOST = 400
"""The share of the budget, and the most tokens, that a base leaves for the deltas of its epoch."""


def same_epoch(
    state: HudState, ask: Ask, desk: Desk, usage: Usage, budget: int, tail: str, alarm: str
) -> Layers | None:
    """The layers of one more call of the epoch that is in force; `None` where a new one has to begin."""
    epoch = state.epoch
    base = epoch.base
    if base is None or epoch.over or base.placement != ask.placement or _other_density(state, ask, base):
        return None
    if rebase_pays(state, ask, desk.settings, usage):
        return None
    kept = kept_of(epoch, ask.have)
    sent = epoch.deltas[:kept]
    ids = shown(((delta.id, delta.anchor) for delta in sent), ask.where)
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
    return Layers(base, deltas, tail, record, dropped, len(sent) + bool(new))


def kept_of(epoch: EpochState, have: str) -> int | None:
    """How many of the epoch's deltas were sent, where the last ones were not."""
    number, _, count = have.partition(".")
    if not count or int(number) != epoch.number or int(count) >= len(epoch.deltas):
        return None
    return int(count)


class _News(msgspec.Struct, frozen=True):
    """What is to be told; `heard`: something more has changed, of which the transcript tells."""

    changes: StateChanges
    heard: bool


def _news(state: HudState, ask: Ask, desk: Desk, covers: int, deltas: tuple[FrameDelta, ...]) -> _News:
    before = desk.state_at(covers)
    told = [desk.event_at(seq) for delta in deltas for seq in delta.heard]
    said = [event for event in (*told, *ask.said) if event is not None and event.seq > covers]
    heard = preview_state(said, before) if said else None
    return _News(diff_states(before, state, desk.known, heard), heard is not None)


def _other_density(state: HudState, ask: Ask, base: FrameBase) -> bool:
    """Whether a density is asked for that the base does not have, and not because it did not fit when last asked."""
    call = state.window.call
    asked = call.density if call else None
    return ask.density is not None and ask.density != base.density and ask.density != asked


def _delta(state: HudState, ask: Ask, desk: Desk, news: _News, alarm: str, since: int, n: int) -> FrameDelta | None:
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


def new_epoch(state: HudState, ask: Ask, desk: Desk, usage: Usage, budget: int, tail: str, additive: bool) -> Layers:
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
            omitted=tuple(Left(one.path, one.text[:200], one.tokens, one.reason) for one in fitted.omitted),
        )
    dropped: tuple[Omission, ...] = ()
    if base.tokens + need > budget:
        tail, dropped = "", (_no_tail(tail, need, budget),)
    return Layers(base, (), tail, () if base is old else (base,), dropped)


def _fit_base(
    state: HudState, density: Density, room: int, budget: int, tag: str, desk: Desk, additive: bool
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


def _reason(state: HudState, ask: Ask, settings: Settings, usage: Usage) -> str:
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
