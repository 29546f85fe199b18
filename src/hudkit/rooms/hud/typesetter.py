"""Writing and counting with a memory: what did not change since it was last written costs a look-up."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeVar

import msgspec

from hudkit.rooms.hud import fields
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.times import DAY, iso, short
from hudkit.rooms.world import Message
from hudkit.tokens import counting
from hudkit.tokens.vocabularies import ENCODINGS

MOST = 200_000
"""Entries of each memory; beyond, it starts anew."""

V = TypeVar("V")


class Counter(Protocol):
    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...


class Row(msgspec.Struct):
    """A message as it is written: `body`, the same with what is behind it if another one follows, its tokens."""

    said: Message
    version: int
    day: int
    plain: dict[str, Any]
    body: str
    piece: str
    tokens: int


class Typesetter:
    """Pieces and their tokens, by content and by message; use one for all beats of a world. Not for several threads.

    `counter` counts tokens (default: hudkit's). Tokens of pieces add up exactly with the encodings that hudkit knows,
    and with an estimate by bytes; with any other counter, the whole text is counted.
    """

    def __init__(self, counter: Counter | None = None) -> None:
        self.counter: Counter = counter or counting.counter()
        self._adds_up = self.counter.name in (*ENCODINGS, counting.APPROXIMATE)
        self._counts: dict[str, int] = {}
        self._made: dict[Hashable, Any] = {}
        self._held: dict[Hashable, tuple[object, Any]] = {}
        self._rows: dict[tuple[str, int], Row] = {}

    def count(self, piece: str) -> int:
        """Tokens of a piece."""
        found = self._counts.get(piece)
        if found is None:
            found = _room_for(self._counts)[piece] = self.counter.count(piece)
        return found

    def total(self, tokens: int, text: str) -> int:
        """Tokens of a text whose pieces have so many together."""
        return tokens if self._adds_up else self.counter.count(text)

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """What `make` gives, made once for equal keys."""
        found: V | None = self._made.get(key)
        if found is None:
            found = _room_for(self._made)[key] = make()
        return found

    def while_same(self, key: Hashable, of: object, make: Callable[[], V]) -> V:
        """What `make` gives, made anew when `of` is another object; for what is replaced when it changes."""
        found = self._held.get(key)
        if found is None or found[0] is not of:
            found = _room_for(self._held)[key] = (of, make())
        made: V = found[1]
        return made

    def row(self, said: Message, notation: Notation, now: int) -> Row:
        """A message as it is written at `now`."""
        day = now // DAY if notation.short_times else 0
        key = (notation.name, said.id)
        found = self._rows.get(key)
        if found is None or found.said is not said or found.version != said.version or found.day != day:
            plain = fields.message(said, clock(notation, now))
            body = notation.message(plain)
            piece = body + notation.between
            found = Row(said, said.version, day, plain, body, piece, self.counter.count(piece))
            _room_for(self._rows)[key] = found
        return found


def clock(notation: Notation, now: int) -> fields.Clock:
    """How a notation tells a time at `now`."""
    return (lambda at: short(at, now)) if notation.short_times else iso


def _room_for(memory: dict[Any, Any]) -> dict[Any, Any]:
    if len(memory) >= MOST:
        memory.clear()
    return memory
