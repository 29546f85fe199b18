"""Which deltas are where they were sent: the transcript's anchors against those of the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from hudkit.compose import Density
from hudkit.compose.fitting import Omission
from hudkit.config import Settings
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.errors import ConfigError
from hudkit.hud.frame import Frame
from hudkit.hud.measured_renderer import MeasuredRenderer
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, FrameDelta, Payload, RequestParts, SentTranscript
from hudkit.sections.document_builder import DocumentBuilder, KnownRows
from hudkit.sections.state import HudState

DELTA_FORMS = {"tool": "tool", "user": "user"}
"""How a delta is carried, by the role of the message that it is anchored to."""


class TranscriptMessage(msgspec.Struct, frozen=True):
    """A message of a host's transcript, as far as frames need it: its opaque anchor and its role
    (`user`, `assistant` or `tool`)."""

    anchor: str
    role: str = "user"


class TranscriptPosition(msgspec.Struct, frozen=True):
    """Where a call stands: the anchors in its transcript, the last one and its form, and whether a turn starts.

    `anchors` is `None` where the host gives no transcript: then nothing is ever missing from it.
    """

    anchors: frozenset[str] | None
    last: str
    form: str
    turn_start: bool


def transcript_position(transcript: Sequence[TranscriptMessage | tuple[str, str] | str] | None) -> TranscriptPosition:
    """Read a transcript: messages in order, each a `Message`, an `(anchor, role)` pair, or an anchor alone
    (then of a user's message). Without one, the call is taken for the start of a turn."""
    if transcript is None:
        return TranscriptPosition(None, "end", "user", True)
    messages = [_message(entry, n) for n, entry in enumerate(transcript)]
    if not messages:
        return TranscriptPosition(frozenset(), "start", "user", True)
    last = messages[-1]
    return TranscriptPosition(
        frozenset(m.anchor for m in messages), last.anchor, DELTA_FORMS.get(last.role, "user"), last.role == "user"
    )


def _message(entry: TranscriptMessage | tuple[str, str] | str, n: int) -> TranscriptMessage:
    match entry:
        case TranscriptMessage():
            return entry
        case str():
            return TranscriptMessage(entry)
        case (str() as anchor, str() as role):
            return TranscriptMessage(anchor, role)
    raise ConfigError(f"transcript[{n}] is {entry!r:.60}", hint="Give a Message, an (anchor, role) pair or an anchor")


def anchored_ids(anchors: Iterable[tuple[str, str]], where: TranscriptPosition) -> tuple[str, ...]:
    """Of recorded deltas as `(id, anchor)` in order: the ids whose anchors are in the transcript."""
    return tuple(id for id, anchor in anchors if where.anchors is None or anchor in where.anchors)


# -- What a frame is asked for with, and what comes of it: plain values.


class FrameRequest(msgspec.Struct, frozen=True):
    """A call's arguments. `tag` is used if a new epoch begins, `now` is Unix ms; `notice` says what is wrong with the
    HUD itself; `have` is the mark of the newest frame that was sent (empty: all were); `said` are events
    since the last call of which answers in the last message tell; `sent` and `parts` are only recorded (`sent` of the
    sizes that the stubs of pruned calls have); `outputs` are those of the transcript."""

    used_tokens: int | None
    limit_tokens: int | None
    budget: int | None
    density: Density | None
    placement: str
    where: TranscriptPosition
    tag: str
    now: int = 0
    model: str = ""
    notice: str = ""
    have: str = ""
    said: tuple[Event, ...] = ()
    sent: Callable[[Mapping[str, int]], SentTranscript] | None = None
    parts: RequestParts | None = None
    outputs: tuple[CallOutput, ...] = ()


class BuiltFrame(msgspec.Struct, frozen=True):
    """A frame, and the events to be recorded before it is sent (none: the same call was recorded already)."""

    frame: Frame
    record: tuple[Payload, ...]


class ComposeContext(msgspec.Struct, frozen=True):
    """What composing needs beside the state and the call."""

    typeset: MeasuredRenderer
    board: DocumentBuilder
    settings: Settings
    state_at: Callable[[int], HudState]
    known: KnownRows
    event_at: Callable[[int], Event | None]


class FrameLayers(msgspec.Struct, frozen=True):
    """What a frame is made of, and what of it has to be recorded."""

    base: FrameBase
    deltas: tuple[FrameDelta, ...]
    tail: str
    record: tuple[Payload, ...] = ()
    dropped: tuple[Omission, ...] = ()
    count: int = 0  # of the epoch's deltas, shown or not
