"""The rooms of a HUD: what each says of itself, and its messages from the newest back, by shares of attention."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import msgspec

from hudkit.compose.fitting import growth
from hudkit.errors import BudgetError, OperationError
from hudkit.rooms import allowances
from hudkit.rooms.allowances import FULL_ATTENTION, attention_shares
from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.agent_hud import AgentHud, HudOmission, HudSection, LazyDocument
from hudkit.rooms.hud.cached_renderer import (
    CachedRenderer,
    RenderedMember,
    RenderedMessage,
    RenderedRoom,
    time_format,
)
from hudkit.rooms.hud.hud_fields import fitting_beginning, truncate_to_fit
from hudkit.rooms.hud.notations import NOTATIONS, Notation
from hudkit.rooms.hud.self_section import build_self_section
from hudkit.rooms.world import AgentState, RoomMessage, RoomState, World

MIN_MESSAGE_TOKENS = 48
"""Tokens below which a message is not cut to fit, but left out."""

_PACE = 32  # tokens of the time since last and the word budget, at most
_HASHABLE = frozenset((str, int, bool))
_ROUNDS = 4  # of giving out what quiet rooms leave


class RoomDraft(msgspec.Struct):
    """A room on its way into a HUD."""

    room: RoomState
    share: float
    fixed: bool
    parts: list[RenderedMember]
    """All but messages."""
    cost: int
    """Tokens of the parts."""
    metadata: int
    """The same with what opens and closes messages: not less than it will be."""
    after: int
    """The index of the first message that the agent may see."""
    next: int
    """The index of the newest one that was not looked at yet."""
    column: RenderedRoom
    allowance: int = 0
    spent: int = 0
    rows: list[RenderedMessage] = []
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


class RoomAllocator:
    """One agent's rooms at `now`, within `budget` tokens."""

    def __init__(
        self, world: World, agent: AgentState, now: int, budget: int, notation: Notation, typeset: CachedRenderer
    ):
        self.world, self.agent, self.now, self.budget = world, agent, now, budget
        self.notation, self.typeset = notation, typeset
        self.omitted: list[HudOmission] = []

    def rooms(self) -> list[RoomDraft]:
        """Every room that fits, in the order in which the agent came, with its messages."""
        percents = attention_shares(self.agent.attention, self.agent.rooms)
        opened = self._within([self._open(self.world.rooms[id], percents[id]) for id in self.agent.rooms])
        free = self.budget - sum(one.metadata for one in opened)
        unused = max(0.0, FULL_ATTENTION - sum(percents.values()))
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

    def _open(self, room: RoomState, share: float) -> RoomDraft:
        you = self.agent.id
        after = bisect_right(room.messages, room.joined[you])
        limit = max(self.world.rules.tokens.metadata, int(self.budget * share / FULL_ATTENTION) // 2)
        board = hud_fields.room_board_fields(self.world, room, you)
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
        self, room: RoomState, share: float, members: Sequence[int | str], board: dict[str, Any], after: int
    ) -> RoomDraft:
        notation, typeset, you = self.notation, self.typeset, self.agent.id

        def head() -> tuple[dict[str, Any], str]:
            plain = hud_fields.room_head_fields(room, you, [str(one) for one in members], share)
            return plain, notation.head(plain)

        parts = [
            typeset.part(("head", notation.name, room.id, you, round(share, 1), *members), head),
            self._member("time_since_last", allowances.describe_last_spoke(self.world, you, room.id, self.now)),
            self._member("word_budget", allowances.word_budget(self.world, you, room.id, self.now)),
            *[self._member(name, value) for name, value in board.items()],
        ]
        cost = sum([part.tokens for part in parts])
        return RoomDraft(
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

    def _member(self, name: str, value: Any) -> RenderedMember:
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
        self, opened: RoomDraft, members: list[str], board: dict[str, Any], limit: int
    ) -> tuple[list[str], dict[str, Any], list[HudOmission]]:
        """Members and billboard of a room that says too much of itself: a third of the limit for members, a third for
        keys and requests, what is left for the billboard; and what that leaves out."""
        found, gone = dict(board), list[HudOmission]()
        count = self.typeset.count
        room = opened.room

        def head(names: Sequence[str]) -> int:
            return count(
                self.notation.head(hud_fields.room_head_fields(room, self.agent.id, list(names), opened.share))
            )

        kept = fitting_beginning(
            members, lambda names: head([*names, _more(members, names)]) - head([]) <= limit // 3
        )
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
            shorter = truncate_to_fit(text, lambda some: count(self.notation.room_member("billboard", some)) <= left)
            if shorter != text:
                gone.append(_left(room, "characters of the billboard", len(text) - len(shorter) + 1))
                found["billboard"] = shorter
        return members, found, gone

    def _shorter(self, name: str, rows: list[Any], limit: int) -> list[Any]:
        return fitting_beginning(rows, lambda some: self._member(name, some).tokens <= limit)

    def _within(self, opened: list[RoomDraft]) -> list[RoomDraft]:
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
                self.omitted.append(HudOmission(f"room {one.room.id}", "room", 1, "there are more rooms than fit"))
        return [one for one in opened if one.room.id not in gone]

    def _fill(self, opened: RoomDraft) -> None:
        """Take messages, from the newest back, as long as the next one fits."""
        column, stop = opened.column, opened.next + 1
        left = opened.allowance - opened.spent
        start = self.typeset.oldest(column, opened.after, stop, left, self.notation, self.now)
        opened.rows = column.rows[start - column.first : stop - column.first] + opened.rows
        opened.spent += column.tokens(start, stop)
        opened.next = start - 1

    def _give_out(self, opened: list[RoomDraft], left: int) -> None:
        """What rooms did not need goes to those of `%*`, in equal parts."""
        for _ in range(_ROUNDS):
            wanting = [one for one in opened if one.older and not one.fixed]
            if not wanting or left < len(wanting) * MIN_MESSAGE_TOKENS:
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

    def _cut_newest(self, opened: RoomDraft) -> None:
        """A message that is longer than all there is for its room: its beginning."""
        if opened.allowance < MIN_MESSAGE_TOKENS:
            return
        said = self.world.messages[opened.room.messages[-1]]

        def row(text: str) -> RenderedMessage:
            return self._row(said, text)

        text = truncate_to_fit(said.content, lambda some: row(some).tokens <= opened.allowance)
        found = row(text)
        if found.tokens <= opened.allowance:
            opened.rows.append(found)
            opened.spent += found.tokens
            opened.next -= 1
            what = HudOmission(
                f"room {opened.room.id}",
                "characters of its newest message",
                len(said.content) - len(text) + 1,
                "longer than the room's budget",
            )
            self.omitted.append(what)

    def _row(self, said: RoomMessage, text: str) -> RenderedMessage:
        plain = {**hud_fields.message_fields(said, time_format(self.notation, self.now)), "content": text}
        piece = self.notation.message(plain) + self.notation.between
        return RenderedMessage(said, said.version, plain, piece, self.typeset.count(piece))


def _more(all_: Sequence[str], kept: Sequence[str]) -> str:
    return f"+{len(all_) - len(kept)} more"


def _left(room: RoomState, what: str, number: int) -> HudOmission:
    return HudOmission(f"room {room.id}", what, number, "a room says no more of itself than its limit")


def build_agent_hud(
    world: World, agent_id: int, now: int, typeset: CachedRenderer, whispers: Sequence[str] = ()
) -> AgentHud:
    """What an agent sees at `now` (Unix ms), in its format, never over the world's token budget.

    `whispers` (`Book.whispered`) are shown as `self.once`. They are in no log, so the digest is that of the HUD
    without them: the one that a replay composes.

    Raises `OperationError` where there is no such agent, `BudgetError` where what must be there does not fit.
    """
    agent = world.agents.get(agent_id)
    if agent is None:
        raise OperationError(f"there is no agent {agent_id}", hint="Agents have ids from 1; the Architect has no HUD")
    notation = NOTATIONS[agent.input_format]
    own = build_self_section(world, agent, now, notation, typeset, whispers)
    limit = world.rules.tokens.total
    opening = typeset.count(notation.rooms(len(agent.rooms)))
    filling = RoomAllocator(world, agent, now, limit - own.tokens - opening, notation, typeset)
    rooms = filling.rooms()
    while True:
        pieces, sections = _rooms(rooms, notation, typeset)
        rest = "".join([*own.pieces, *pieces])
        text = own.prefix.text + rest
        tokens = typeset.total(own.tokens + sum([one.tokens for one in sections]), text)
        if tokens <= limit:
            break
        _shrink(rooms, tokens, limit)
    return AgentHud(
        agent_id,
        now,
        notation.name,
        text,
        tokens,
        limit,
        build_agent_hud(world, agent_id, now, typeset).digest if whispers else own.prefix.digest_with(rest),
        len(own.prefix.text),
        (*own.sections, *sections),
        (*own.omitted, *filling.omitted, *_unseen(rooms)),
        LazyDocument(lambda: {**own.prefix.plain, "self": own.plain, "rooms": [one.plain for one in rooms]}),
    )


def _rooms(rooms: list[RoomDraft], notation: Notation, typeset: CachedRenderer) -> tuple[list[str], list[HudSection]]:
    """The pieces of all rooms, and what each costs."""
    count = typeset.count
    opening = notation.rooms(len(rooms))
    pieces = [opening]
    sections = [HudSection("rooms", count(opening))]
    for number, one in enumerate(rooms, 1):
        end = notation.end(rows=bool(one.rows), last=number == len(rooms))
        messages = notation.messages(len(one.rows))
        pieces += [part.piece for part in one.parts]
        if one.rows:
            *older, newest = one.rows
            last, tokens = typeset.ended(newest.piece, newest.tokens, notation, end)
            tokens += count(messages) + one.spent - newest.tokens
            pieces.append(messages)
            pieces += [row.piece for row in older]
            pieces.append(last)
        else:
            pieces.append(messages + end)
            tokens = count(pieces[-1])
        limit = one.metadata + one.allowance
        sections.append(
            HudSection(
                f"room {one.room.id}",
                one.cost + tokens,
                one.room.id,
                one.share,
                limit,
                one.cost,
                len(one.rows),
                one.visible,
            )
        )
    return pieces, sections


def _shrink(rooms: list[RoomDraft], tokens: int, limit: int) -> None:
    """Take the oldest message away where most are shown: only with a counter by which pieces do not add up."""
    fullest = max(rooms, key=lambda one: len(one.rows), default=None)
    if fullest is None or not fullest.rows:
        raise BudgetError(
            f"the HUD needs {tokens} tokens of {limit}", hint="Raise tokens.total", need=tokens, limit=limit
        )
    fullest.spent -= fullest.rows.pop(0).tokens


def _unseen(rooms: list[RoomDraft]) -> list[HudOmission]:
    return [
        HudOmission(f"room {one.room.id}", "messages", one.visible - len(one.rows), "older than what fits")
        for one in rooms
        if one.visible > len(one.rows)
    ]
