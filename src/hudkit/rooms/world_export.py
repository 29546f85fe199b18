"""Export of a world's log: a transcript for people, and one JSON object an event for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from hudkit.compose import visible
from hudkit.log import Event
from hudkit.rooms import world_events as e

SCHEMA = 1
"""Version of the JSON lines; raised when a field changes its meaning or goes away."""

_INDENT = " " * 10


class TranscriptWriter:
    """Writes events as lines of text, in their order. What an agent wrote is shown as data, and moves no cursor."""

    def __init__(self, names: Mapping[int, str] | None = None) -> None:
        """`names` of the agents that are there before the first event, by number."""
        self.names = {e.ARCHITECT: "The Architect", e.SYSTEM: "System", **(names or {})}
        self._day = ""

    def lines(self, entry: Event, event: e.WorldEvent) -> Iterator[str]:
        """Yield the lines of one event; none where people would not have seen it."""
        text = self._text(event)
        if isinstance(event, e.AgentCreated | e.AgentAltered) and event.name is not None:
            self.names[event.id] = event.name
        if text is None:
            return
        time = datetime.fromtimestamp(entry.timestamp / 1000, UTC)
        if (day := f"{time:%Y-%m-%d}") != self._day:
            self._day = day
            # Once a day, so that lines stay short.
            yield f"-- {day} (UTC)"
        first, *rest = visible(text, breaks=True).split("\n")
        yield f"{time:%H:%M:%S}  {first}"
        for line in rest:
            yield f"{_INDENT}{line}"

    def _text(self, event: e.WorldEvent) -> str | None:
        match event:
            case e.MessagePosted(kind="system"):
                return f"[{self._room(event.room)}] * {event.content}"
            case e.MessagePosted():
                answered = f" (to #{event.reply_to})" if event.reply_to else ""
                return f"[{self._room(event.room)}] #{event.id} {self._who(event.sender)}{answered}: {event.content}"
            case e.ReactionAdded():
                return f"{self._who(event.agent)} reacts to #{event.message}: {event.reaction}"
            case e.BillboardSet():
                return f"[{self._room(event.room)}] billboard: {event.text or '(taken down)'}"
            case e.AgentCreated():
                return (
                    f"{event.name} ({event.id}) is there: {event.kind}, {event.model}; made by {self._who(event.by)}"
                )
            case e.AgentRetired():
                return f"{self._who(event.id)} was retired by {self._who(event.by)}"
            case e.WorldCreated():
                fork = f", a fork of {event.forked_from} at event {event.forked_at}" if event.forked_from else ""
                return f"the world {event.name} begins{fork}"
            case e.InterventionMade():
                return f"intervention {event.number}: {event.text}"
            case e.WorldPaused():
                return f"the world pauses: {event.why}"
            case e.WorldResumed():
                return "the world goes on"
            case e.SpeedSet():
                return f"time runs {event.factor:g} times as fast"
            case _:
                return None

    def _who(self, id: int) -> str:
        name = self.names.get(id, "somebody")
        return name if id <= e.ARCHITECT else f"{name} ({id})"

    def _room(self, id: int) -> str:
        return f"{self.names.get(id, '?')}, {id}"


def transcript_lines(events: Iterable[tuple[Event, e.WorldEvent]], room: int | None = None) -> Iterator[str]:
    """Yield the transcript line by line; with `room`, only what happened in that one."""
    writer = TranscriptWriter()
    for entry, event in events:
        # Written in any case: the writer learns names from events of all rooms.
        lines = list(writer.lines(entry, event))
        if room is None or getattr(event, "room", None) == room:
            yield from lines


def json_lines(events: Iterable[tuple[Event, e.WorldEvent]], room: int | None = None) -> Iterator[str]:
    """Yield one JSON object in ASCII for each event, whole: beats with digests, replies word for word, actions.

    With `room`, only what happened in that one.
    """
    for entry, event in events:
        if room is None or getattr(event, "room", None) == room:
            data: dict[str, Any] = msgspec.to_builtins(event)
            facts = {"seq": entry.seq, "at": entry.timestamp, "id": entry.id, "origin": entry.origin.value}
            yield json.dumps({"schema": SCHEMA, **facts, "type": data.pop("type"), "data": data})
