"""What a frame is asked for with, and what comes of it: plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from hudkit.compose import Density
from hudkit.compose.fitting import Omission
from hudkit.config import Settings
from hudkit.context.compaction.carried import Output
from hudkit.hud.anchors import Place
from hudkit.hud.frame import Frame
from hudkit.hud.typeset import Typeset
from hudkit.log.event import Event
from hudkit.log.payloads import FrameBase, FrameDelta, Parts, Payload, Sent
from hudkit.sections.document_builder import DocumentBuilder, KnownRows
from hudkit.sections.state import HudState


class Ask(msgspec.Struct, frozen=True):
    """A call's arguments. `tag` is used if a new epoch begins, `now` is Unix ms; `notice` says what is wrong with the
    HUD itself; `have` is the mark of the newest frame that was sent (empty: all were); `said` are events
    since the last call of which answers in the last message tell; `sent` and `parts` are only recorded (`sent` of the
    sizes that the stubs of pruned calls have); `outputs` are those of the transcript."""

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
    have: str = ""
    said: tuple[Event, ...] = ()
    sent: Callable[[Mapping[str, int]], Sent] | None = None
    parts: Parts | None = None
    outputs: tuple[Output, ...] = ()


class Composed(msgspec.Struct, frozen=True):
    """A frame, and the events to be recorded before it is sent (none: the same call was recorded already)."""

    frame: Frame
    record: tuple[Payload, ...]


class Desk(msgspec.Struct, frozen=True):
    """What composing needs beside the state and the call."""

    typeset: Typeset
    board: DocumentBuilder
    settings: Settings
    state_at: Callable[[int], HudState]
    known: KnownRows
    event_at: Callable[[int], Event | None]


class Layers(msgspec.Struct, frozen=True):
    """What a frame is made of, and what of it has to be recorded."""

    base: FrameBase
    deltas: tuple[FrameDelta, ...]
    tail: str
    record: tuple[Payload, ...] = ()
    dropped: tuple[Omission, ...] = ()
    count: int = 0  # of the epoch's deltas, shown or not
