"""What happened in a world, for people and for programs: a transcript to read, and one JSON object for each event."""

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
    """Happenings as lines of text, in their order; what an agent wrote is shown as data, and moves no cursor."""

    def __init__(self, names: Mapping[int, str] | None = None) -> None:
        """`names` of the agents that are there before the first happening."""
        self.names = {e.ARCHITECT: "The Architect", e.SYSTEM: "System", **(names or {})}
        self._day = ""

    def lines(self, event: Event, what: e.WorldEvent) -> Iterator[str]:
        """The lines of one happening; none where people would not see it."""
        text = self._text(what)
        if isinstance(what, e.AgentCreated | e.AgentAltered) and what.name is not None:
            self.names[what.id] = what.name
        if text is None:
            return
        at = datetime.fromtimestamp(event.timestamp / 1000, UTC)
        if (day := f"{at:%Y-%m-%d}") != self._day:
            self._day = day
            yield f"-- {day} (UTC)"
        first, *rest = visible(text, breaks=True).split("\n")
        yield f"{at:%H:%M:%S}  {first}"
        for line in rest:
            yield f"{_INDENT}{line}"

    def _text(self, what: e.WorldEvent) -> str | None:
        match what:
            case e.MessagePosted(kind="system"):
                return f"[{self._room(what.room)}] * {what.content}"
            case e.MessagePosted():
                answered = f" (to #{what.reply_to})" if what.reply_to else ""
                return f"[{self._room(what.room)}] #{what.id} {self._who(what.sender)}{answered}: {what.content}"
            case e.ReactionAdded():
                return f"{self._who(what.agent)} reacts to #{what.message}: {what.reaction}"
            case e.BillboardSet():
                return f"[{self._room(what.room)}] billboard: {what.text or '(taken down)'}"
            case e.AgentCreated():
                return f"{what.name} ({what.id}) is there: {what.kind}, {what.model}; made by {self._who(what.by)}"
            case e.AgentRetired():
                return f"{self._who(what.id)} was retired by {self._who(what.by)}"
            case e.WorldCreated():
                fork = f", a fork of {what.forked_from} at event {what.forked_at}" if what.forked_from else ""
                return f"the world {what.name} begins{fork}"
            case e.WorldPaused():
                return f"the world pauses: {what.why}"
            case e.WorldResumed():
                return "the world goes on"
            case e.SpeedSet():
                return f"time runs {what.factor:g} times as fast"
            case _:
                return None

    def _who(self, id: int) -> str:
        name = self.names.get(id, "somebody")
        return name if id <= e.ARCHITECT else f"{name} ({id})"

    def _room(self, id: int) -> str:
        return f"{self.names.get(id, '?')}, {id}"


def transcript_lines(happenings: Iterable[tuple[Event, e.WorldEvent]], room: int | None = None) -> Iterator[str]:
    """Lines of text; `room`: only what happened in that one."""
    writer = TranscriptWriter()
    for event, what in happenings:
        lines = list(writer.lines(event, what))
        if room is None or getattr(what, "room", None) == room:
            yield from lines


def json_lines(happenings: Iterable[tuple[Event, e.WorldEvent]], room: int | None = None) -> Iterator[str]:
    """One JSON object in ASCII for each event, whole: beats with digests, replies word for word, actions."""
    for event, what in happenings:
        if room is None or getattr(what, "room", None) == room:
            data: dict[str, Any] = msgspec.to_builtins(what)
            facts = {"seq": event.seq, "at": event.timestamp, "id": event.id, "origin": event.origin.value}
            yield json.dumps({"schema": SCHEMA, **facts, "type": data.pop("type"), "data": data})
