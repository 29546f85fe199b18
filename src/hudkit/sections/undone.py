"""Undo by folding without: which events are taken back, and what is kept of them so that ids stay what they were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    CompactUndone,
    ContextSnapshot,
    EventRestate,
    EventUndo,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OutputsPrune,
    ProjectSet,
    Redact,
    SessionLink,
    SessionOffer,
    SessionStart,
    ShareSync,
    TodoSync,
    type_of,
)
from hudkit.sections.items import Items

FIXED: dict[str, str] = {
    kind.__struct_config__.tag: why  # type: ignore[misc]
    for kinds, why in (
        (
            (FrameBase, FrameDelta, FrameUnsent, OutputsPrune, ContextSnapshot),
            "it says what was sent, and what was sent stays sent",
        ),
        ((CompactBefore, CompactAfter, CompactUndone), "the host compacted, and only the host can take that back"),
        ((Redact, EventRestate), "what was redacted is gone"),
        ((SessionStart, SessionLink, TodoSync), "it is the host's own, and is told again"),
        ((SessionOffer, ShareSync), "it tells of another session"),
        ((ProjectSet,), "the project's defaults are set again by project.set"),
    )
    for kind in kinds
}
"""Types that cannot be undone, and why."""


def undone(events: Iterable[Event]) -> frozenset[int]:
    """The sequence numbers that these events take back; an undo that is itself undone takes nothing back."""
    gone: set[int] = set()
    for event in sorted((e for e in events if isinstance(e.payload, EventUndo)), key=_seq, reverse=True):
        assert isinstance(event.payload, EventUndo)
        if event.seq not in gone and event.payload.seq < event.seq:
            gone.add(event.payload.seq)
    return frozenset(gone)


def reaches(events: Iterable[Event], seq: int) -> bool:
    """Whether one of these events takes back another that a state as of `seq` holds already."""
    return any(isinstance(event.payload, EventUndo) and event.payload.seq <= seq for event in events)


def fixed(event: Event) -> str:
    """Why this event cannot be undone; empty where it can."""
    kind = event.type if event.payload is None else type_of(event.payload)
    return "what it said was redacted" if event.payload is None else FIXED.get(kind, "")


def spent(before: Any, after: Any) -> Any:
    """A section as it was before an event, but for the numbers that the event gave: they are not given again."""
    if isinstance(after, Items) and isinstance(before, Items) and after.count != before.count:
        return msgspec.structs.replace(before, count=after.count)
    return before


def _seq(event: Event) -> int:
    return event.seq
