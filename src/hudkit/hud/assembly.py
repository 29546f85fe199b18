"""Recorded layers to a frame, at the call and ever after."""

from __future__ import annotations

from hudkit.compose import Band, Density
from hudkit.compose.fitting import Omission
from hudkit.hud.frame import Delta, Frame, Stub, join
from hudkit.hud.typeset import Typeset
from hudkit.log.payloads import FrameBase, FrameDelta, Stubbed
from hudkit.sections.state import HudState


def assemble(
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail: str,
    typeset: Typeset,
    budget: int,
    band: Band,
    mark: str,
    dropped: tuple[Omission, ...] = (),
    stubs: tuple[Stubbed, ...] = (),
) -> Frame:
    """A frame of recorded layers; its tokens are counted once on the whole."""
    text = join(base.text, *(delta.text for delta in deltas), tail)
    omitted = tuple(Omission(one.path, one.text, one.tokens, one.reason) for one in base.omitted)
    return Frame(
        text=text,
        tokens=typeset.count(text),
        base=base.text,
        deltas=tuple(Delta(delta.id, delta.anchor, delta.text, delta.form) for delta in deltas if delta.text),
        tail=tail,
        omitted=(*omitted, *dropped),
        density=Density(base.density),
        band=band,
        budget=budget,
        epoch=base.epoch,
        tag=base.tag,
        mark=mark,
        pruned=tuple(Stub(one.call, one.text) for one in stubs),
    )


def mark_of(base: FrameBase, deltas: int) -> str:
    """How far a frame brings its reader: what a host names it by (`Ask.have`)."""
    return f"{base.epoch}.{deltas}"


def rebuilt(state: HudState, typeset: Typeset) -> Frame | None:
    """The frame of the call that the state ends with, from what was recorded; `None` where it ends with none, or
    where some of it was redacted."""
    call, base = state.window.call, state.epoch.base
    if call is None or base is None or state.window.call_seq != state.seq or base.epoch != call.epoch:
        return None
    deltas = tuple(delta for delta in state.epoch.deltas if delta.id in call.shown)
    if len(deltas) != len(call.shown):  # one was redacted
        return None
    mark = mark_of(base, len(state.epoch.deltas))
    band, stubs = Band(call.band or "unknown"), state.pruned_outputs.stubs
    return assemble(base, deltas, call.tail, typeset, call.budget, band, mark, stubs=stubs)
