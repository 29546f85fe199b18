"""Personas that answer from a script, in the order of their beats: for tests and for demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from hudkit.compose.formats import json_text, toon
from hudkit.rooms.minds.mind import Asked, Thought

Line: TypeAlias = str | Mapping[str, Any] | Thought
"""A text as it is, a reply as plain data (`responses`, `actions`), or a whole thought."""
Lines: TypeAlias = Iterable[Line] | Callable[[Asked], Line]

SILENCE = "[no response]"


class Scripted:
    """Each agent says its own lines, one a beat, and then is silent. A function makes them from what is asked."""

    name = "scripted"

    def __init__(self, scripts: Mapping[int, Lines] | Callable[[Asked], Line]) -> None:
        """`scripts`: lines by agent, or one function for all."""
        self._all = scripts if callable(scripts) else None
        self._lines = {} if callable(scripts) else {id: _caller(lines) for id, lines in scripts.items()}
        self.asked: list[Asked] = []

    def think_now(self, asked: Asked) -> Thought:
        """The next line of the agent that is asked."""
        self.asked.append(asked)
        say = self._all or self._lines.get(asked.agent)
        return thought_of(SILENCE if say is None else say(asked), asked)


class Unhurried:
    """The same as another mind, with time to think: `pause(asked)` is awaited before each answer."""

    def __init__(self, mind: Scripted, pause: Callable[[Asked], Any]) -> None:
        self._mind = mind
        self._pause = pause

    async def think(self, asked: Asked) -> Thought:
        """The other mind's answer, later."""
        thought = self._mind.think_now(asked)
        await self._pause(asked)
        return thought


def thought_of(line: Line, asked: Asked) -> Thought:
    """A line as a thought, in the format that was asked for."""
    if isinstance(line, Thought):
        return line
    return Thought(line if isinstance(line, str) else written(line, asked.output_format))


def written(reply: Mapping[str, Any], output_format: str) -> str:
    """A reply as text: JSON, or TOON."""
    return toon.encode(dict(reply)) if output_format == "toon" else json_text.encode(dict(reply), indent=None)


def _caller(lines: Lines) -> Callable[[Asked], Line]:
    if callable(lines):
        return lines
    left = iter(lines)
    return lambda _: next(left, SILENCE)
