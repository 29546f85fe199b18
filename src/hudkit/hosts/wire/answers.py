"""What the daemon answers: one struct an answer."""

from __future__ import annotations

import msgspec


class Hello(msgspec.Struct, frozen=True):
    """Who answers: `version` of hudkit, `protocol` of the wire."""

    version: str
    protocol: int
    pid: int
    uptime_ms: int


class Layer(msgspec.Struct, frozen=True):
    """A delta of a frame: `form` (`tool` or `user`) says how it is put at the message with the `anchor`."""

    id: str
    anchor: str
    form: str
    text: str


class Stub(msgspec.Struct, frozen=True):
    """The one line that stands where the output of a call was pruned."""

    call: str
    text: str


class FrameAnswer(msgspec.Struct, frozen=True):
    """A frame: `tokens` of `budget` in base, deltas and tail together; `notice` where it could not be recorded.
    `pruned` are all outputs that this call and every later one carries as a stub.

    `ack` is opaque. An empty one acknowledges nothing: send every message again with the next request. `mark` is
    opaque, too: the mark of the last frame that was used is the `have` of the next request.
    """

    base: str
    deltas: tuple[Layer, ...]
    tail: str
    epoch: int
    tag: str
    tokens: int
    budget: int
    notice: str
    ack: str
    mark: str = ""
    pruned: tuple[Stub, ...] = ()


class Taken(msgspec.Struct, frozen=True):
    """What was uploaded is durable; `ack` as in a frame."""

    ack: str


class Said(msgspec.Struct, frozen=True):
    """What a tool says to the agent; `ok` is false where it was refused."""

    text: str
    ok: bool


class Compacting(msgspec.Struct, frozen=True):
    """The prompt that replaces the host's own."""

    prompt: str


class Done(msgspec.Struct, frozen=True):
    ok: bool = True


class Wrong(msgspec.Struct, frozen=True):
    """`code` is stable and machine-readable, `message` says what and where, `hint` what would be right."""

    code: str
    message: str
    hint: str = ""


class Errors(msgspec.Struct, frozen=True):
    """The body of every answer that is not a success."""

    error: Wrong
