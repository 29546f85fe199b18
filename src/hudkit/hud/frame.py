"""One call's fitted document: its layers, its cost, and what it leaves out."""

from __future__ import annotations

import msgspec

from hudkit.compose.density import Band, Density
from hudkit.compose.fitting import Omission


class Delta(msgspec.Struct, frozen=True):
    """A block of changes that stays where it was first sent: after the message with this anchor.

    `form` says how a host puts it there: `tool` (at the end of a tool's output) or `user` (a part of a message).
    """

    id: str
    anchor: str
    text: str
    form: str = "user"


class Stub(msgspec.Struct, frozen=True):
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
    pruned: tuple[Stub, ...] = ()


def join(*layers: str) -> str:
    """Layers as one text: each ends in a line break, with a blank line between."""
    return "\n".join(layer for layer in layers if layer)
