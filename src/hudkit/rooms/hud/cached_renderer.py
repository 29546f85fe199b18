"""Rendering and counting with a memory: what did not change since it was last written costs a look-up.

A world composes hundreds of HUDs a second, each of about 10,000 tokens, and from one to the next almost nothing
changes. So a HUD is put together from pieces (`notations`), and each piece is written and counted once:

- by its content, where equal pieces come again in other HUDs (`cached`, `member`): a room's head, a word budget;
- by the identity of what it was made of, where that is replaced when it changes (`while_same`): prompts, a memory;
- a room's messages as a list that grows at its end (`RenderedRoom`), for all members at once, with running sums of
  their tokens: how many of the newest fit into a budget is one binary search.

For example, a room's messages cost 40, 25, 30, 35 tokens, so the sums are 0, 40, 65, 95, 130. With 70 tokens left the
search looks for the first sum of at least 130 − 70 = 60, finds 65 at index 2, and shows the last two messages (65
tokens). When a fifth comes, only it is written, and one sum is appended. A reaction changes a message's `version`:
then its row alone is written anew.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.hud_fields import DAY, format_iso, format_short
from hudkit.rooms.hud.notations import Notation
from hudkit.rooms.world import AgentState, RecentAction, RoomMessage, RoomState, World
from hudkit.tokens import counting
from hudkit.tokens.counting import ENCODINGS

_MAX_CACHE_ENTRIES = 200_000
"""Entries of each memory; beyond, it starts anew. Simpler than ageing, and once in some thousand beats."""

MESSAGE_CHUNK = 32
"""Messages that are written at least where older ones are asked for."""

_split_lines = re.compile(r"\n(?= +[^\s/])").split
_begins_with_letter = re.compile("[A-Za-z]").match

V = TypeVar("V")


class RenderedMessage(msgspec.Struct, gc=False):
    """A message as it is written with what is behind it if another one follows, and the tokens of that."""

    message: RoomMessage
    version: int
    plain: dict[str, Any]
    piece: str
    tokens: int


class RenderedAction(msgspec.Struct, gc=False):
    """A recent action, likewise."""

    action: RecentAction
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

    A world that was read again has other objects, and gets another one of these.
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
        """Return the tokens of messages by index."""
        return self.sums[stop - self.first] - self.sums[start - self.first]


class CachedRenderer:
    """Pieces and their tokens, by content, by message and by action; use one for all beats of a world.

    Not for several threads. `counter` counts tokens (default: hudkit's). Tokens of pieces add up exactly with the
    encodings that hudkit knows, and with an estimate by bytes; with any other counter, the whole text is counted.
    """

    def __init__(self, counter: counting.TokenCounter | None = None) -> None:
        """`counter`: see the class."""
        self.counter: counting.TokenCounter = counter or counting.shared_counter()
        self._adds_up = self.counter.name in (*ENCODINGS, counting.APPROXIMATE)
        self._counts: dict[str, int] = {}
        self._by_content: dict[Hashable, Any] = {}
        self._by_identity: dict[Hashable, tuple[object, object, Any]] = {}
        self._news: dict[Hashable, RenderedMessage] = {}
        self._handed_over: dict[Hashable, object] = {}
        self._rooms: dict[tuple[str, int], RenderedRoom] = {}
        self._actions: dict[tuple[str, int], tuple[int, list[RenderedAction]]] = {}
        self._row_count = 0

    # -- tokens --------------------------------------------------------------------------------------------------

    def count(self, piece: str) -> int:
        """Return the tokens of a piece."""
        tokens = self._counts.get(piece)
        if tokens is None:
            tokens = _with_space(self._counts)[piece] = self.counter.count(piece)
        return tokens

    def sum(self, text: str) -> int:
        """Return the tokens of a text that is much like others: its parts are counted, equal ones once."""
        if not self._adds_up:
            return self.count(text)
        parts = split_at_token_boundaries(text)
        counts = list(map(self._counts.get, parts))
        return sum(map(self.count, parts)) if None in counts else sum(counts)  # type: ignore[arg-type]

    def with_end(self, piece: str, tokens: int, notation: Notation, end: str) -> tuple[str, int]:
        """Return a message's or an action's piece with `end` behind it, instead of another one, and its tokens."""
        body = piece.removesuffix(notation.between)
        if self._adds_up and (tail := notation.tail(body)) is not None:
            # Only the tail stands next to what changes: counting a few characters replaces counting a long message.
            return body + end, tokens - self.count(tail + notation.between) + self.count(tail + end)
        return body + end, self.count(body + end)

    def total(self, tokens: int, text: str) -> int:
        """Return the tokens of a text whose pieces have `tokens` together."""
        return tokens if self._adds_up else self.counter.count(text)

    # -- pieces --------------------------------------------------------------------------------------------------

    def cached(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return what `make` gives, made once for equal keys."""
        value: V | None = self._by_content.get(key)
        if value is None:
            value = _with_space(self._by_content)[key] = make()
        return value

    def member(self, key: Hashable, make: Callable[[], tuple[dict[str, Any], str]]) -> RenderedMember:
        """Return members of an object, made and counted once for equal keys."""
        member: RenderedMember | None = self._by_content.get(key)
        if member is None:
            plain, piece = make()
            member = _with_space(self._by_content)[key] = RenderedMember(plain, piece, self.count(piece))
        return member

    def while_same(self, key: Hashable, of: object, make: Callable[[], V], other: object = None) -> V:
        """Return what `make` gives, made anew when `of` or `other` is another object.

        For what is replaced when it changes: comparing two memories would cost more than writing one. Keys are of
        agents and formats, so that there are no more entries than those; a limit below that would write all anew in
        each round of a large world.
        """
        entry = self._by_identity.get(key)
        if entry is None or entry[0] is not of or entry[1] is not other:
            entry = self._by_identity[key] = (of, other, make())
        value: V = entry[2]
        return value

    def hand_over(self, key: Hashable, value: object) -> None:
        """Keep what one beat made for the next one of its agent, which gets it from `take_over`, once."""
        self._handed_over[key] = value

    def take_over(self, key: Hashable) -> Any:
        """Return what was handed over under this key, or `None`."""
        return self._handed_over.pop(key, None)

    # -- messages ------------------------------------------------------------------------------------------------

    def room(self, world: World, room: RoomState, notation: Notation, now: int) -> RenderedRoom:
        """Return a room's messages as they are written at `now`; `first_within` writes those from before."""
        day = now // DAY if notation.short_times else 0  # short times are other ones on another day
        key = (notation.name, room.id)
        ids = room.messages
        rendered = self._rooms.get(key)
        if (
            rendered is None
            or rendered.ids is not ids
            or rendered.day != day
            or len(ids) - rendered.first - len(rendered.rows)
            > MESSAGE_CHUNK  # nobody looked for long: begin at the end
        ):
            if self._row_count > _MAX_CACHE_ENTRIES:
                self._row_count = 0
                self._rooms.clear()
            rendered = RenderedRoom(world.messages, ids, day, room.reactions, len(ids), [], [0])
            self._rooms[key] = rendered
        elif rendered.reactions != room.reactions:
            rendered.reactions = room.reactions
            rows = [
                row if row.version == row.message.version else self._row(row.message, notation, now)
                for row in rendered.rows
            ]
            self._set_rows(rendered, rows)
        for id in ids[rendered.first + len(rendered.rows) :]:
            row = self._row(world.messages[id], notation, now)
            rendered.rows.append(row)
            rendered.sums.append(rendered.sums[-1] + row.tokens)
            self._row_count += 1
        return rendered

    def first_within(
        self, rendered: RenderedRoom, after: int, stop: int, limit: int, notation: Notation, now: int
    ) -> int:
        """Return the least index, `after` at least, from which on the messages before `stop` have `limit` tokens at
        most. Older messages are written as far as they are needed for that."""
        if stop < rendered.first:  # a base from before the messages that anybody looked at
            self._write_older(rendered, max(after, stop - MESSAGE_CHUNK), notation, now)
        while True:
            first, sums = rendered.first, rendered.sums
            start = first + bisect_left(sums, sums[stop - first] - limit, max(0, after - first), stop - first)
            if start > first or first <= after:
                return start
            # All that is written fits: write as many again, so that a long room costs few rounds.
            self._write_older(rendered, max(after, first - max(MESSAGE_CHUNK, len(rendered.rows))), notation, now)

    def _write_older(self, rendered: RenderedRoom, start: int, notation: Notation, now: int) -> None:
        """Write the messages from index `start` on, before those that are written."""
        older = [self._row(rendered.messages[id], notation, now) for id in rendered.ids[start : rendered.first]]
        rendered.first = start
        self._row_count += len(older)
        self._set_rows(rendered, older + rendered.rows)

    def _set_rows(self, rendered: RenderedRoom, rows: list[RenderedMessage]) -> None:
        rendered.rows = rows
        rendered.sums = list(accumulate([row.tokens for row in rows], initial=0))

    def _row(self, message: RoomMessage, notation: Notation, now: int) -> RenderedMessage:
        plain = hud_fields.message_fields(message, time_format(notation, now), reactions=not notation.anchored)
        piece = notation.message(plain) + notation.between
        return RenderedMessage(message, message.version, plain, piece, self.sum(piece))

    def news_item(self, message: RoomMessage, notation: Notation, now: int) -> RenderedMessage:
        """Return a message as it is written among the news."""

        key = (notation.name, message.id, now // DAY if notation.short_times else 0)
        item = self._news.get(key)
        if item is None or item.message is not message:
            fields = hud_fields.message_fields(message, time_format(notation, now), reactions=False)
            piece = notation.news_item({"room_id": message.room, **fields}) + notation.between
            item = RenderedMessage(message, message.version, fields, piece, self.sum(piece))
            _with_space(self._news)[key] = item
        return item

    # -- recent actions ------------------------------------------------------------------------------------------

    def actions(self, agent: AgentState, notation: Notation, now: int) -> list[RenderedAction]:
        """Return an agent's recent actions as they are written at `now`, the oldest first; not to be changed."""
        day = now // DAY if notation.short_times else 0
        key = (notation.name, agent.id)
        day_before, before = self._actions.get(key, (day, []))
        recent = agent.recent
        if day_before != day:
            before = []
        elif (
            before
            and len(before) == len(recent)
            and before[0].action is recent[0]
            and before[-1].action is recent[-1]
        ):
            return before
        # The oldest ones go, new ones come at the end: what is between is the same.
        reused = _count_upto(recent, before[-1].action) if before else 0
        reused = reused if reused <= len(before) else 0
        lines = before[len(before) - reused :]
        lines = lines + [self._action(action, notation, now) for action in recent[reused:]]
        self._actions[key] = (day, lines)
        return lines

    def _action(self, action: RecentAction, notation: Notation, now: int) -> RenderedAction:
        # Of two actions in one minute, an agent must see which was a moment ago.
        plain = hud_fields.action_fields(action, time_format(notation, now, seconds=notation.anchored))
        piece = notation.action(plain) + notation.between
        return RenderedAction(action, plain, piece, self.sum(piece))


def time_format(notation: Notation, now: int, *, seconds: bool = False) -> hud_fields.TimeFormat:
    """Return how a notation tells a time at `now`; `seconds`: to the second, also where times are short."""
    return (lambda time: format_short(time, now, seconds=seconds)) if notation.short_times else format_iso


def split_at_token_boundaries(text: str) -> list[str]:
    """Return a text in parts that end where a tokenizer always cuts.

    That is behind line breaks, or in one line between `","` and a letter. For example, `{"a":"x","b":"y"}` gives
    `{"a":"x","` and `b":"y"}`.
    """
    if "\n" in text:
        *lines, last = _split_lines(text)
        return [*[line + "\n" for line in lines], last]
    first, *others = text.split('","')
    parts = [first]
    for part in others:
        parts[-1] += '","'
        if _begins_with_letter(part):
            parts.append(part)
        else:
            parts[-1] += part
    return parts


def _count_upto(recent: list[RecentAction], last: RecentAction) -> int:
    """Return how many actions there are up to and with `last`, which is among the newest; 0 where it is none of
    them."""
    for behind, action in enumerate(reversed(recent)):
        if action is last:
            return len(recent) - behind
    return 0


def _with_space(memory: dict[Any, Any]) -> dict[Any, Any]:
    """Return a memory that has space for one more entry."""
    if len(memory) >= _MAX_CACHE_ENTRIES:
        memory.clear()
    return memory
