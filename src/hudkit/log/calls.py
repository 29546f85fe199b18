"""The events of a call: the window, compactions, and the layers of frames, byte for byte."""

from __future__ import annotations

from typing import Literal

import msgspec

from hudkit.log.payload import Payload

__all__ = [
    "Brought",
    "Call",
    "CompactAfter",
    "CompactBefore",
    "CompactUndone",
    "ContextSnapshot",
    "Divergence",
    "FrameBase",
    "FrameDelta",
    "FrameUnsent",
    "Learned",
    "Left",
    "OutputsPrune",
    "Parts",
    "Sent",
    "Spent",
    "Stubbed",
    "TranscriptSeen",
]


class Left(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a base leaves out: where it belongs, what it is, its tokens, and why."""

    path: str
    text: str
    tokens: int
    reason: str


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """The arguments of one composition and its volatile bytes, so that its frame can be rebuilt byte for byte."""

    budget: int
    placement: str
    counter: str  # name of the token counter
    renderer: str  # version of the components and the writer
    epoch: int
    density: str | None = None  # as asked for; `None` follows the band
    shown: tuple[str, ...] = ()  # ids of the deltas whose anchors were in the transcript, in order
    turn_start: bool = True  # the last real message was the user's: the tail is allowed
    band: str = ""  # the band that the agent was told
    tail: str = ""
    tokens: int = 0


class Divergence(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first message in which a transcript departs from that of the call before.

    `how`: `gone`, `changed` (from `was` to `now` characters) or `new` (in front of others that stay). `place` counts
    messages from 0; `again` counts the characters of the messages behind it that were sent before, too.
    """

    anchor: str
    role: str
    how: Literal["gone", "changed", "new"]
    place: int = 0
    was: int = 0
    now: int = 0
    again: int = 0


class Sent(msgspec.Struct, frozen=True, omit_defaults=True):
    """The transcript of a call in characters, as the host sends it: its messages, their size, and of the last one.

    `kept` are those from the start that the call before had too, `None` where that one is not known.
    """

    messages: int = 0
    size: int = 0
    last: int = 0
    kept: int | None = None
    first: Divergence | None = None


class Brought(msgspec.Struct, frozen=True, array_like=True):
    """What the calls of a tool brought, in characters."""

    tool: str
    size: int


class Parts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a request carries, in characters: the host's system prompt and the definitions of tools (`None`: not
    known), the words of messages and calls, and what each tool brought."""

    system: int | None = None
    tools: int | None = None
    words: int = 0
    outputs: tuple[Brought, ...] = ()


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a provider reported of one response, in tokens: `read` from its cache, `written` to it, `fresh` beside
    both; and the answer's."""

    fresh: int = 0
    read: int = 0
    written: int = 0
    output: int = 0

    @property
    def request(self) -> int:
        """Tokens of the request."""
        return self.fresh + self.read + self.written


class Learned(msgspec.Struct, frozen=True):
    """What other sessions learned of how a model counts (`sections.model_calibration`), from so many reports."""

    model: str
    factors: tuple[float, ...]
    doubts: tuple[float, ...]
    reports: int


class ContextSnapshot(Payload, frozen=True, tag="context.snapshot"):
    """The window in use, in tokens, as reported (`None`: unknown), and the call that it was taken for, with what of
    it the host had sent before and its parts; or what a response had cost; or what is known of a model beforehand.

    `late` is what a response from before the last compaction reported, where that is told only after it."""

    used_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int = 0
    model: str = ""
    source: Literal["reported", "estimated", "assumed", ""] = ""
    call: Call | None = None
    sent: Sent | None = None
    parts: Parts | None = None
    spent: Spent | None = None
    learned: Learned | None = None
    late: int | None = None


class CompactBefore(Payload, frozen=True, tag="compact.before"):
    """The transcript is about to be compacted; `state` is the whole projection as JSON text."""

    trigger: str = ""
    used_tokens: int | None = None
    state: str = ""


class CompactAfter(Payload, frozen=True, tag="compact.after"):
    """The transcript was compacted into `summary`, from `began` (Unix ms; 0: not told) to the event's time.

    Where the host tells: `marker` and `message` are the ids of the messages that asked for the summary and have it,
    `tail` of the first one that was kept; `anchor` begins the anchor of the one that has it. `by`: `static` where the
    model wrote none that can be used, and the log's own stands in; `why` says what was wrong with the model's.
    """

    summary: str = ""
    trigger: str = ""
    used_tokens: int | None = None
    began: int = 0
    marker: str = ""
    message: str = ""
    tail: str = ""
    anchor: str = ""
    by: Literal["", "static"] = ""
    why: str = ""


class CompactUndone(Payload, frozen=True, tag="compact.undone"):
    """The host took the compaction of event `seq` back: what it dropped is in the transcript again, and `summary`,
    of the compaction before (empty: there is none), is what stands there."""

    seq: int
    summary: str = ""


class FrameBase(Payload, frozen=True, tag="frame.base"):
    """The base layer of a new epoch: the exact bytes that every call of the epoch carries.

    `tokens` is exact where deltas are added to it; with placement `system`, the sum of its parts.
    """

    epoch: int
    tag: str
    text: str
    tokens: int
    density: str
    placement: str
    budget: int
    covers: int  # the base shows the state as of this sequence number
    reason: str = ""  # why a new epoch began
    omitted: tuple[Left, ...] = ()


class FrameDelta(Payload, frozen=True, tag="frame.delta"):
    """One anchored block of changes: exact bytes, the anchor, and how a host puts it there (`form`).

    An empty `text` says that the transcript itself tells, up to this anchor, what had changed; where something else
    has yet to be told, `heard` are the events of which it tells.
    """

    id: str
    epoch: int
    anchor: str
    form: str
    text: str
    tokens: int
    covers: int
    since: int = -1  # it tells what changed after this event; -1: after what the delta before it covers
    heard: tuple[int, ...] = ()


class FrameUnsent(Payload, frozen=True, tag="frame.unsent"):
    """A frame came too late for its call: of the epoch's deltas, those behind the first `kept` were never sent."""

    epoch: int
    kept: int


class Stubbed(msgspec.Struct, frozen=True):
    """The one line that stands for the output of a call from now on, byte for byte."""

    call: str
    text: str


class OutputsPrune(Payload, frozen=True, tag="outputs.prune"):
    """Old outputs left the window, and stay out of it until the next compaction; the host keeps them.

    In tokens, all estimated (`per_thousand` of them a thousand characters): `freed`, `again` (what had to be
    processed again that could have been read from the cache), and `saves`: what this is expected to save in all, in
    input tokens at full price. `reason`: `pays` (although the cache was warm), `idle` (the cache was cold), `base`
    (a base was written anyway).
    """

    stubs: tuple[Stubbed, ...]
    reason: str = ""
    freed: int = 0
    again: int = 0
    saves: int = 0
    per_thousand: int = 250


class TranscriptSeen(Payload, frozen=True, tag="transcript.seen"):
    """Messages of a host that dates none, in the order in which they were first seen: `keys` are digests of them, and
    each counts as made a millisecond after the one before, the first at the event's time."""

    keys: tuple[str, ...]
