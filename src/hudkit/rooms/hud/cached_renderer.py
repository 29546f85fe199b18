"""Writing and counting with a memory: what did not change since it was last written costs a look-up."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable
from itertools import accumulate
from typing import Any, Protocol, TypeVar

import msgspec

from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.hud_fields import DAY, format_iso, format_short
from hudkit.rooms.hud.notations import Notation
from hudkit.rooms.world import AgentState, RecentAction, RoomMessage, RoomState, World
from hudkit.tokens import counting
from hudkit.tokens.vocabularies import ENCODINGS

MAX_CACHE_ENTRIES = 200_000
"""Entries of each memory; beyond, it starts anew."""

MESSAGE_CHUNK = 32
"""Messages that are written at least where older ones are asked for."""

_LINES = re.compile(r"\n(?= +[^\s/])").split
_BEGINS = re.compile("[A-Za-z]").match

V = TypeVar("V")


class PieceCounter(Protocol):
    @property
    def name(self) -> str: ...
    def count(self, text: str) -> int: ...


class RenderedMessage(msgspec.Struct, gc=False):
    """A message as it is written with what is behind it if another one follows, and the tokens of that."""

    said: RoomMessage
    version: int
    plain: dict[str, Any]
    piece: str
    tokens: int


class RenderedAction(msgspec.Struct, gc=False):
    """A recent action, likewise."""

    done: RecentAction
    plain: dict[str, Any]
    piece: str
    tokens: int


class RenderedMember(msgspec.Struct, gc=False):
    """Members of an object: as data, as they are written, and the tokens of that."""

    plain: dict[str, Any]
    piece: str
    tokens: int


class RenderedRoom(msgspec.Struct):
    """A room's messages as one notation writes them, from the `first` (by index) on that somebody looked at.

    A world that was made again has other objects, and gets another column.
    """

    messages: dict[int, RoomMessage]
    ids: list[int]
    day: int
    reactions: int
    """Those in the room when all rows were right."""
    first: int
    rows: list[RenderedMessage]
    sums: list[int]
    """Tokens of the rows before each, and of all."""

    def tokens(self, start: int, stop: int) -> int:
        """Tokens of messages by index."""
        return self.sums[stop - self.first] - self.sums[start - self.first]


class CachedRenderer:
    """Pieces and their tokens, by content, by message and by action; use one for all beats of a world. Not for
    several threads.

    `counter` counts tokens (default: hudkit's). Tokens of pieces add up exactly with the encodings that hudkit knows,
    and with an estimate by bytes; with any other counter, the whole text is counted.
    """

    def __init__(self, counter: PieceCounter | None = None) -> None:
        self.counter: PieceCounter = counter or counting.counter()
        self._adds_up = self.counter.name in (*ENCODINGS, counting.APPROXIMATE)
        self._counts: dict[str, int] = {}
        self._made: dict[Hashable, Any] = {}
        self._held: dict[Hashable, tuple[object, object, Any]] = {}
        self._columns: dict[tuple[str, int], RenderedRoom] = {}
        self._lines: dict[tuple[str, int], tuple[int, list[RenderedAction]]] = {}
        self._rows = 0

    def count(self, piece: str) -> int:
        """Tokens of a piece."""
        found = self._counts.get(piece)
        if found is None:
            found = _room_for(self._counts)[piece] = self.counter.count(piece)
        return found

    def sum(self, text: str) -> int:
        """Tokens of a text that is much like others: its parts are counted, equal ones once."""
        if not self._adds_up:
            return self.count(text)
        parts = split_at_token_boundaries(text)
        counts = list(map(self._counts.get, parts))
        return sum(map(self.count, parts)) if None in counts else sum(counts)  # type: ignore[arg-type]

    def ended(self, piece: str, tokens: int, notation: Notation, end: str) -> tuple[str, int]:
        """The piece of a message or an action with `end` behind it, instead of another one, and its tokens."""
        body = piece.removesuffix(notation.between)
        if self._adds_up and (tail := notation.tail(body)) is not None:
            return body + end, tokens - self.count(tail + notation.between) + self.count(tail + end)
        return body + end, self.count(body + end)

    def total(self, tokens: int, text: str) -> int:
        """Tokens of a text whose pieces have so many together."""
        return tokens if self._adds_up else self.counter.count(text)

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """What `make` gives, made once for equal keys."""
        found: V | None = self._made.get(key)
        if found is None:
            found = _room_for(self._made)[key] = make()
        return found

    def part(self, key: Hashable, make: Callable[[], tuple[dict[str, Any], str]]) -> RenderedMember:
        """Members of an object, made and counted once for equal keys."""
        found: RenderedMember | None = self._made.get(key)
        if found is None:
            plain, piece = make()
            found = _room_for(self._made)[key] = RenderedMember(plain, piece, self.count(piece))
        return found

    def while_same(self, key: Hashable, of: object, make: Callable[[], V], other: object = None) -> V:
        """What `make` gives, made anew when `of` or `other` is another object; for what is replaced when it
        changes."""
        found = self._held.get(key)
        if found is None or found[0] is not of or found[1] is not other:
            found = _room_for(self._held)[key] = (of, other, make())
        made: V = found[2]
        return made

    def column(self, world: World, room: RoomState, notation: Notation, now: int) -> RenderedRoom:
        """A room's messages as they are written at `now`; `oldest` writes those from before."""
        day = now // DAY if notation.short_times else 0
        key = (notation.name, room.id)
        ids = room.messages
        found = self._columns.get(key)
        if (
            found is None
            or found.ids is not ids
            or found.day != day
            or len(ids) - found.first - len(found.rows) > MESSAGE_CHUNK
        ):
            if self._rows > MAX_CACHE_ENTRIES:
                self._rows = 0
                self._columns.clear()
            found = self._columns[key] = RenderedRoom(world.messages, ids, day, room.reactions, len(ids), [], [0])
        elif found.reactions != room.reactions:
            found.reactions = room.reactions
            rows = found.rows
            changed = [row if row.version == row.said.version else self._row(row.said, notation, now) for row in rows]
            self._set_rows(found, changed)
        for id in ids[found.first + len(found.rows) :]:
            row = self._row(world.messages[id], notation, now)
            found.rows.append(row)
            found.sums.append(found.sums[-1] + row.tokens)
            self._rows += 1
        return found

    def oldest(self, column: RenderedRoom, after: int, stop: int, most: int, notation: Notation, now: int) -> int:
        """The least index of `after` and more from which on the messages before `stop` have `most` tokens at most."""
        while True:
            first, sums = column.first, column.sums
            start = first + bisect_left(sums, sums[stop - first] - most, max(0, after - first), stop - first)
            if start > first or first <= after:
                return start
            column.first = max(after, first - max(MESSAGE_CHUNK, len(column.rows)))
            older = [self._row(column.messages[id], notation, now) for id in column.ids[column.first : first]]
            self._rows += len(older)
            self._set_rows(column, older + column.rows)

    def _set_rows(self, column: RenderedRoom, rows: list[RenderedMessage]) -> None:
        column.rows = rows
        column.sums = list(accumulate([row.tokens for row in rows], initial=0))

    def _row(self, said: RoomMessage, notation: Notation, now: int) -> RenderedMessage:
        plain = hud_fields.message_fields(said, time_format(notation, now))
        piece = notation.message(plain) + notation.between
        return RenderedMessage(said, said.version, plain, piece, self.sum(piece))

    def lines(self, agent: AgentState, notation: Notation, now: int) -> list[RenderedAction]:
        """An agent's recent actions as they are written at `now`, the oldest first; not to be changed."""
        day = now // DAY if notation.short_times else 0
        key = (notation.name, agent.id)
        before, held = self._lines.get(key, (day, []))
        recent = agent.recent
        if before != day:
            held = []
        elif held and len(held) == len(recent) and held[0].done is recent[0] and held[-1].done is recent[-1]:
            return held
        kept = _upto(recent, held[-1].done) if held else 0  # the oldest ones go, new ones come at the end
        kept = kept if kept <= len(held) else 0
        lines = held[len(held) - kept :] + [self._line(done, notation, now) for done in recent[kept:]]
        _room_for(self._lines)[key] = (day, lines)
        return lines

    def _line(self, done: RecentAction, notation: Notation, now: int) -> RenderedAction:
        plain = hud_fields.action_fields(done, time_format(notation, now))
        piece = notation.action(plain) + notation.between
        return RenderedAction(done, plain, piece, self.sum(piece))


def time_format(notation: Notation, now: int) -> hud_fields.TimeFormat:
    """How a notation tells a time at `now`."""
    return (lambda at: format_short(at, now)) if notation.short_times else format_iso


def split_at_token_boundaries(text: str) -> list[str]:
    """A text in parts that end where a tokenizer always cuts: behind line breaks, or in one line between `","` and a
    letter."""
    if "\n" in text:
        *lines, last = _LINES(text)
        return [*[line + "\n" for line in lines], last]
    first, *others = text.split('","')
    found = [first]
    for part in others:
        found[-1] += '","'
        if _BEGINS(part):
            found.append(part)
        else:
            found[-1] += part
    return found


def _upto(recent: list[RecentAction], last: RecentAction) -> int:
    """How many actions there are up to and with one, which is among the newest; 0 where it is none of them."""
    for behind, done in enumerate(reversed(recent)):
        if done is last:
            return len(recent) - behind
    return 0


def _room_for(memory: dict[Any, Any]) -> dict[Any, Any]:
    if len(memory) >= MAX_CACHE_ENTRIES:
        memory.clear()
    return memory
