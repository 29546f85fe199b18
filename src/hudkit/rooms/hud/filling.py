"""The rooms of a HUD: what each says of itself, and its messages from the newest back, by shares of attention."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import msgspec

from hudkit.compose.fitting import growth
from hudkit.rooms import words
from hudkit.rooms.attention import WHOLE, shares
from hudkit.rooms.hud import fields
from hudkit.rooms.hud.cutting import cut, first_that_fit
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.seen import Omission
from hudkit.rooms.hud.typesetter import Column, Part, Row, Typesetter, clock
from hudkit.rooms.world import Agent, Message, Room, World

LEAST_MESSAGE = 48
"""Tokens below which a message is not cut to fit, but left out."""

_PACE = 32  # tokens of the time since last and the word budget, at most
_HASHABLE = frozenset((str, int, bool))
_ROUNDS = 4  # of giving out what quiet rooms leave


class Opened(msgspec.Struct):
    """A room on its way into a HUD."""

    room: Room
    share: float
    fixed: bool
    parts: list[Part]
    """All but messages."""
    cost: int
    """Tokens of the parts."""
    metadata: int
    """The same with what opens and closes messages: not less than it will be."""
    after: int
    """The index of the first message that the agent may see."""
    next: int
    """The index of the newest one that was not looked at yet."""
    column: Column
    allowance: int = 0
    spent: int = 0
    rows: list[Row] = []
    """The oldest first; `spent` is what they cost."""

    @property
    def plain(self) -> dict[str, Any]:
        """The room as data."""
        found: dict[str, Any] = {}
        for part in self.parts:
            found |= part.plain
        return {**found, "messages": [row.plain for row in self.rows]}

    @property
    def visible(self) -> int:
        return len(self.room.messages) - self.after

    @property
    def older(self) -> bool:
        return self.next >= self.after


class Filling:
    """One agent's rooms at `now`, within `budget` tokens."""

    def __init__(self, world: World, agent: Agent, now: int, budget: int, notation: Notation, typeset: Typesetter):
        self.world, self.agent, self.now, self.budget = world, agent, now, budget
        self.notation, self.typeset = notation, typeset
        self.omitted: list[Omission] = []

    def rooms(self) -> list[Opened]:
        """Every room that fits, in the order in which the agent came, with its messages."""
        percents = shares(self.agent.attention, self.agent.rooms)
        opened = self._within([self._open(self.world.rooms[id], percents[id]) for id in self.agent.rooms])
        free = self.budget - sum(one.metadata for one in opened)
        unused = max(0.0, WHOLE - sum(percents.values()))
        offers = growth.share_budget(
            self.budget, [growth.FlexClaim(percent) for percent in (*percents.values(), unused)]
        )
        by_room = dict(zip(percents, offers, strict=False))
        for one in opened:
            one.allowance = max(0, by_room[one.room.id] - one.metadata)
        wanted = sum(one.allowance for one in opened)
        for one in opened:
            if wanted > free:
                one.allowance = one.allowance * free // wanted
            self._fill(one)
        self._give_out(opened, free - sum(one.spent for one in opened))
        for one in opened:
            if not one.rows and one.older:
                self._cut_newest(one)
        return opened

    def _open(self, room: Room, share: float) -> Opened:
        you = self.agent.id
        after = bisect_right(room.messages, room.joined[you])
        limit = max(self.world.rules.tokens.metadata, int(self.budget * share / WHOLE) // 2)
        board = fields.board(self.world, room, you)
        opened = self._opened(room, share, room.members, board, after)
        if opened.metadata > limit:
            names = [str(id) for id in room.members]
            key = ("squeezed", self.notation.name, room.id, you, round(share, 1), limit, *room.members)
            members, board, gone = self.typeset.once(
                (*key, repr(board)), lambda: self._squeezed(opened, names, board, limit)
            )
            self.omitted += gone
            opened = self._opened(room, share, members, board, after)
        return opened

    def _opened(
        self, room: Room, share: float, members: Sequence[int | str], board: dict[str, Any], after: int
    ) -> Opened:
        notation, typeset, you = self.notation, self.typeset, self.agent.id

        def head() -> tuple[dict[str, Any], str]:
            plain = fields.head(room, you, [str(one) for one in members], share)
            return plain, notation.head(plain)

        parts = [
            typeset.part(("head", notation.name, room.id, you, round(share, 1), *members), head),
            self._member("time_since_last", words.time_since_last(self.world, you, room.id, self.now)),
            self._member("word_budget", words.budget(self.world, you, room.id, self.now)),
            *[self._member(name, value) for name, value in board.items()],
        ]
        cost = sum([part.tokens for part in parts])
        return Opened(
            room,
            share,
            room.id in self.agent.attention,
            parts,
            cost,
            cost + self._around(),
            after,
            len(room.messages) - 1,
            typeset.column(self.world, room, notation, self.now),
            rows=[],
        )

    def _member(self, name: str, value: Any) -> Part:
        notation = self.notation
        key = ("room", notation.name, name, value if type(value) in _HASHABLE else repr(value))
        return self.typeset.part(key, lambda: ({name: value}, notation.room_member(name, value)))

    def _around(self) -> int:
        """Tokens that open and close a room's messages, at most."""
        notation, count = self.notation, self.typeset.count

        def make() -> int:
            ends = [notation.end(rows=rows, last=last) for rows in (True, False) for last in (True, False)]
            return max(map(count, ends)) + max(count(notation.messages(n)) for n in (0, 1, 9_999))

        return self.typeset.once(("around", notation.name), make)

    def _squeezed(
        self, opened: Opened, members: list[str], board: dict[str, Any], limit: int
    ) -> tuple[list[str], dict[str, Any], list[Omission]]:
        """Members and billboard of a room that says too much of itself: a third of the limit for members, a third for
        keys and requests, what is left for the billboard; and what that leaves out."""
        found, gone = dict(board), list[Omission]()
        count = self.typeset.count
        room = opened.room

        def head(names: Sequence[str]) -> int:
            return count(self.notation.head(fields.head(room, self.agent.id, list(names), opened.share)))

        kept = first_that_fit(members, lambda names: head([*names, _more(members, names)]) - head([]) <= limit // 3)
        if len(kept) < len(members):
            gone.append(_left(room, "members", len(members) - len(kept)))
            members = [*kept, _more(members, kept)]
        for name in ("my_keys", "pending_access_requests"):
            rows = self._shorter(name, found.get(name, []), limit // 6)
            if len(rows) < len(found.get(name, [])):
                gone.append(_left(room, name, len(found[name]) - len(rows)))
                found[name] = rows
        if text := found.get("billboard"):
            rest = [self._member(name, value) for name, value in found.items() if name != "billboard"]
            left = limit - head(members) - sum(part.tokens for part in rest) - self._around() - _PACE
            shorter = cut(text, lambda some: count(self.notation.room_member("billboard", some)) <= left)
            if shorter != text:
                gone.append(_left(room, "characters of the billboard", len(text) - len(shorter) + 1))
                found["billboard"] = shorter
        return members, found, gone

    def _shorter(self, name: str, rows: list[Any], limit: int) -> list[Any]:
        return first_that_fit(rows, lambda some: self._member(name, some).tokens <= limit)

    def _within(self, opened: list[Opened]) -> list[Opened]:
        """Without the rooms for which there is not even room for what they say of themselves: those of the smallest
        share go first, then those where the last message is oldest."""
        over = sum(one.metadata for one in opened) - self.budget
        if over <= 0:
            return opened
        gone = set()
        for one in sorted(opened, key=lambda one: (one.share, one.room.messages[-1:])):
            if over > 0:
                over -= one.metadata
                gone.add(one.room.id)
                self.omitted.append(Omission(f"room {one.room.id}", "room", 1, "there are more rooms than fit"))
        return [one for one in opened if one.room.id not in gone]

    def _fill(self, opened: Opened) -> None:
        """Take messages, from the newest back, as long as the next one fits."""
        column, stop = opened.column, opened.next + 1
        left = opened.allowance - opened.spent
        start = self.typeset.oldest(column, opened.after, stop, left, self.notation, self.now)
        opened.rows = column.rows[start - column.first : stop - column.first] + opened.rows
        opened.spent += column.tokens(start, stop)
        opened.next = start - 1

    def _give_out(self, opened: list[Opened], left: int) -> None:
        """What rooms did not need goes to those of `%*`, in equal parts."""
        for _ in range(_ROUNDS):
            wanting = [one for one in opened if one.older and not one.fixed]
            if not wanting or left < len(wanting) * LEAST_MESSAGE:
                return
            before = left
            for one, offer in zip(
                wanting, growth.share_budget(left, [growth.FlexClaim()] * len(wanting)), strict=True
            ):
                spent = one.spent
                one.allowance = max(one.allowance, spent + offer)
                self._fill(one)
                left -= one.spent - spent
            if left == before:
                return

    def _cut_newest(self, opened: Opened) -> None:
        """A message that is longer than all there is for its room: its beginning."""
        if opened.allowance < LEAST_MESSAGE:
            return
        said = self.world.messages[opened.room.messages[-1]]

        def row(text: str) -> Row:
            return self._row(said, text)

        text = cut(said.content, lambda some: row(some).tokens <= opened.allowance)
        found = row(text)
        if found.tokens <= opened.allowance:
            opened.rows.append(found)
            opened.spent += found.tokens
            opened.next -= 1
            what = Omission(
                f"room {opened.room.id}",
                "characters of its newest message",
                len(said.content) - len(text) + 1,
                "longer than the room's budget",
            )
            self.omitted.append(what)

    def _row(self, said: Message, text: str) -> Row:
        plain = {**fields.message(said, clock(self.notation, self.now)), "content": text}
        piece = self.notation.message(plain) + self.notation.between
        return Row(said, said.version, plain, piece, self.typeset.count(piece))


def _more(all_: Sequence[str], kept: Sequence[str]) -> str:
    return f"+{len(all_) - len(kept)} more"


def _left(room: Room, what: str, number: int) -> Omission:
    return Omission(f"room {room.id}", what, number, "a room says no more of itself than its limit")
