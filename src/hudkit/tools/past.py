"""Operations on what happened: the recent events, and search over live items and past events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hudkit.document import shorten, visible
from hudkit.events.event import Event
from hudkit.events.payloads import Unknown
from hudkit.hud import Session
from hudkit.tools.lines import MOST, called
from hudkit.tools.operation import Answer, Arguments, Text, reading
from hudkit.tools.whole import sections

CHUNK = 100
"""Events read at once on the way back."""

LENGTH = 200
"""Characters of one event's or hit's content."""

MACHINERY = ("frame.base", "frame.delta", "context.snapshot")
"""Events about calls, not about work: left out unless asked for."""

UNTOLD: dict[str, frozenset[str]] = {
    "frame.base": frozenset({"tag", "text", "omitted"}),
    "frame.delta": frozenset({"text"}),
    "context.snapshot": frozenset({"call"}),
    "compact.before": frozenset({"state"}),
}
"""Fields that history does not tell: bytes of frames (a copy of their tag could pass for the HUD), whole states."""

_PART = re.compile(r'"([^"]+)"|([^\s"]+)')


class Recent(Arguments, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=MOST, description="How many events at most.")] = 20
    before: Annotated[int | None, Meta(description="Only events with a smaller number.")] = None
    all: Annotated[bool, Meta(description="Also the events about frames and usage.")] = False


class Sought(Arguments, frozen=True):
    query: Annotated[Text, Meta(description='Words that must all occur, in any case; "in quotes" as they stand.')]
    limit: Annotated[int, Meta(ge=1, le=MOST, description="How many hits at most.")] = 20


@reading("history", Recent)
def history(session: Session, args: Recent) -> Answer:
    """List what was recorded last, the newest event last."""
    wanted = (event for event in back(session, args.before) if args.all or event.type not in MACHINERY)
    events = list(islice(wanted, args.limit))[::-1]
    rest = next(wanted, None)
    told = [f"- #{event.seq} {_head(event)}{_after(shorten(content(event), LENGTH))}" for event in events]
    if rest is not None:
        told.insert(0, f"- older ones: before {events[0].seq}")
    data = {"events": [_plain(event) for event in events], "more": rest is not None}
    return Answer("\n".join(told) or "No events.", data)


@reading("search", Sought, example={"query": "refresh token"})
def search(session: Session, args: Sought) -> Answer:
    """Search the live items and the past events of this session for words."""
    parts = [(quoted or word).casefold() for quoted, word in _PART.findall(args.query)] or [args.query.casefold()]
    state = session.state
    told: list[str] = []
    hits: list[dict[str, Any]] = []
    seen: set[int] = set()
    for section in sections():
        for row in section.rows(state):
            if _has(row.text, parts):
                seen.add(row.seq)
                if len(hits) < args.limit:
                    hits.append({"section": section.name, "id": row.id, "text": row.text})
                    told.append(f"- {section.name} {called(row.label)}{_after(_around(row.text, parts[0]))}")
    for event in back(session, None) if len(hits) < args.limit else ():
        if event.seq in seen or event.type in MACHINERY:
            continue
        text = content(event)
        if _has(text, parts):
            hits.append({"seq": event.seq, "type": event.type, "text": shorten(text, LENGTH)})
            told.append(f"- #{event.seq} {_head(event)}{_after(_around(text, parts[0]))}")
            if len(hits) == args.limit:
                break
    return Answer("\n".join(told) or "Nothing found.", {"hits": hits})


def back(session: Session, before: int | None) -> Iterator[Event]:
    """The session's events, the newest first, from below `before`."""
    last = session.state.seq
    upto = last if before is None else min(last, before - 1)
    while upto > 0:
        after = max(upto - CHUNK, 0)
        yield from reversed(tuple(session.events(after, upto)))
        upto = after


def content(event: Event) -> str:
    """What an event says: its one field, or all of them by name."""
    payload = event.payload
    if payload is None:
        return "(redacted)"
    if isinstance(payload, Unknown):
        return "(of a newer version)"
    untold = UNTOLD.get(event.type, frozenset())
    fields = {name: _said(value) for name, value in msgspec.structs.asdict(payload).items() if name not in untold}
    filled = {name: value for name, value in fields.items() if value}
    if len(filled) == 1:
        return next(iter(filled.values()))
    return ", ".join(f"{name}: {value}" for name, value in filled.items())


def _said(value: object) -> str:
    if isinstance(value, msgspec.Struct):
        return " ".join(_said(one) for one in msgspec.structs.astuple(value))
    if isinstance(value, tuple):
        return "; ".join(_said(one) for one in value)
    return "" if value is None or value is False else "yes" if value is True else str(value)


def _head(event: Event) -> str:
    return f"{visible(event.type)} ({event.origin}, turn {event.turn})"


def _after(text: str) -> str:
    return f": {visible(text)}" if text else ""


def _plain(event: Event) -> dict[str, Any]:
    head = {
        "seq": event.seq,
        "type": event.type,
        "origin": str(event.origin),
        "turn": event.turn,
        "at": event.timestamp,
    }
    return {**head, "content": shorten(content(event), LENGTH)}


def _has(text: str, parts: list[str]) -> bool:
    folded = text.casefold()
    return all(part in folded for part in parts)


def _around(text: str, part: str) -> str:
    """The text near the first hit."""
    start = max(text.casefold().find(part) - LENGTH // 3, 0)
    return ("…" if start else "") + shorten(text[start:], LENGTH)
