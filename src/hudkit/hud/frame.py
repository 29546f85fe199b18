"""One call's fitted document: its layers, its cost, and what it leaves out."""

from __future__ import annotations

import msgspec

from hudkit.compose.density import Band, Density
from hudkit.compose.fitting import Omission
from hudkit.hud.measured_renderer import MeasuredRenderer
from hudkit.log.payloads import FrameBase, FrameDelta, PrunedOutput
from hudkit.sections.state import HudState


class Delta(msgspec.Struct, frozen=True):
    """A block of changes that stays where it was first sent: after the message with this anchor.

    `form` says how a host puts it there: `tool` (at the end of a tool's output) or `user` (a part of a message).
    """

    id: str
    anchor: str
    text: str
    form: str = "user"


class PrunedStub(msgspec.Struct, frozen=True):
    """The line that stands where the output of a call was pruned."""

    call: str
    text: str


class Frame(msgspec.Struct, frozen=True):
    """What one call carries.

    `base` goes into the system prompt, each of `deltas` to its anchor, `tail` behind the last message; `text` is
    all of it in order. `tokens` counts `text`. `notice` is filled where the frame could not be recorded. `mark` is
    opaque: a host that could not use a frame in time names the last one that it used by it. `pruned` are all outputs
    that the call carries as one line; they are no part of `text`.
    """

    text: str
    tokens: int
    base: str
    deltas: tuple[Delta, ...]
    tail: str
    omitted: tuple[Omission, ...]
    density: Density
    band: Band
    budget: int
    epoch: int
    tag: str
    notice: str = ""
    mark: str = ""
    pruned: tuple[PrunedStub, ...] = ()


def join_layers(*layers: str) -> str:
    """Layers as one text: each ends in a line break, with a blank line between."""
    return "\n".join(layer for layer in layers if layer)


# -- Recorded layers to a frame, at the call and ever after.


def assemble_frame(
    base: FrameBase,
    deltas: tuple[FrameDelta, ...],
    tail: str,
    typeset: MeasuredRenderer,
    budget: int,
    band: Band,
    mark: str,
    dropped: tuple[Omission, ...] = (),
    stubs: tuple[PrunedOutput, ...] = (),
) -> Frame:
    """A frame of recorded layers; its tokens are counted once on the whole."""
    text = join_layers(base.text, *(delta.text for delta in deltas), tail)
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
        pruned=tuple(PrunedStub(one.call, one.text) for one in stubs),
    )


def frame_mark(base: FrameBase, deltas: int) -> str:
    """How far a frame brings its reader: what a host names it by (`Ask.have`)."""
    return f"{base.epoch}.{deltas}"


def rebuild_frame(state: HudState, typeset: MeasuredRenderer) -> Frame | None:
    """The frame of the call that the state ends with, from what was recorded; `None` where it ends with none, or
    where some of it was redacted."""
    call, base = state.window.call, state.epoch.base
    if call is None or base is None or state.window.call_seq != state.seq or base.epoch != call.epoch:
        return None
    deltas = tuple(delta for delta in state.epoch.deltas if delta.id in call.shown)
    if len(deltas) != len(call.shown):  # one was redacted
        return None
    mark = frame_mark(base, len(state.epoch.deltas))
    band, stubs = Band(call.band or "unknown"), state.pruned_outputs.stubs
    return assemble_frame(base, deltas, call.tail, typeset, call.budget, band, mark, stubs=stubs)
