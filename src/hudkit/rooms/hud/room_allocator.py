"""How the rooms of a HUD share its token budget; `hud_builder` says by which rules, with an example."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from hudkit.compose import shorten
from hudkit.compose.fitting import growth
from hudkit.rooms.allowances import FULL_ATTENTION, describe_last_spoke, pending_in, word_budget
from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.agent_hud import BeatFacts, HudOmission, HudSection
from hudkit.rooms.hud.cached_renderer import RenderedMember, RenderedMessage, RenderedRoom, time_format
from hudkit.rooms.hud.hud_fields import largest_fitting
from hudkit.rooms.world import RoomMessage, RoomState, World

_T = TypeVar("_T")

_MIN_MESSAGE_TOKENS = 48
"""Tokens below which a message is not cut to fit, but left out."""

_MAX_PACE_TOKENS = 32
"""Tokens of the time since last and the word budget, at most."""
_HASHABLE = frozenset((str, int, bool))
_MAX_ROUNDS = 4
"""Rounds of giving out what quiet rooms leave: a fifth one changes next to nothing."""


class RoomDraft(msgspec.Struct):
    """A room on its way into a HUD."""

    room: RoomState
    share: float
    fixed: bool
    members: list[RenderedMember]
    """All but messages."""
    cost: int
    """Tokens of the members."""
    metadata: int
    """The same with what opens and closes messages: not less than it will be."""
    after: int
    """The index of the first message that the agent may see; `upto`: behind the last."""
    upto: int
    next: int
    """The index of the newest one that was not looked at yet."""
    rendered: RenderedRoom
    allowance: int = 0
    spent: int = 0
    """What the rows cost."""
    rows: list[RenderedMessage] = []
    """The oldest first."""

    @property
    def plain(self) -> dict[str, Any]:
        """The room as data."""
        fields: dict[str, Any] = {}
        for member in self.members:
            fields |= member.plain
        return {**fields, "messages": [row.plain for row in self.rows]}

    @property
    def visible(self) -> int:
        """How many of the room's messages the agent may see."""
        return self.upto - self.after

    @property
    def has_older(self) -> bool:
        """Whether there are messages that it may see and that were not looked at."""
        return self.next >= self.after


class RoomAllocator:
    """Shares `budget` tokens among one agent's rooms; `omitted` is what that leaves out, but for older messages."""

    def __init__(self, facts: BeatFacts, budget: int) -> None:
        """`budget`: tokens for all rooms, without what opens them."""
        self.omitted: list[HudOmission] = []
        self._facts = facts
        self._budget = budget
        self._around_tokens = facts.renderer.cached(("around", facts.notation.name), self._count_around)

    def allocate(self) -> list[RoomDraft]:
        """Return every room that fits, in the order in which the agent came, with its messages."""
        facts, shares = self._facts, self._facts.shares
        rooms = facts.world.rooms
        drafts = self._within_budget([self._draft(rooms[id], shares[id]) for id in facts.agent.rooms])
        free = self._budget - sum([draft.metadata for draft in drafts])
        # Where all shares are fixed and under 100, the rest is nobody's: it is offered to no room.
        unused = max(0.0, FULL_ATTENTION - sum(shares.values()))
        offers = growth.share_budget(
            self._budget, [growth.FlexClaim(percent) for percent in (*shares.values(), unused)]
        )
        offer_by_room = dict(zip(shares, offers, strict=False))
        for draft in drafts:
            draft.allowance = max(0, offer_by_room[draft.room.id] - draft.metadata)
        wanted = sum([draft.allowance for draft in drafts])
        for draft in drafts:
            if wanted > free:
                draft.allowance = draft.allowance * free // wanted
            self._fill(draft)
        self._give_out(drafts, free - sum([draft.spent for draft in drafts]))
        # Last: what others left may have made space for it whole.
        for draft in drafts:
            if not draft.rows and draft.has_older:
                self._cut_newest(draft)
        return drafts

    # -- what a room says of itself ------------------------------------------------------------------------------

    def _draft(self, room: RoomState, share: float) -> RoomDraft:
        facts = self._facts
        you = facts.agent.id
        upto = len(room.messages) if facts.upto is None else bisect_right(room.messages, facts.upto)
        after = min(bisect_right(room.messages, room.joined_after[you]), upto)
        # A large share pays for more about the room; a small one must not squeeze out who is there.
        limit = max(facts.metadata_limit, int(self._budget * share / FULL_ATTENTION) // 2)
        if facts.notation.anchored:
            board = lasting_fields(facts.world, room)
        else:
            board = _room_board_fields(facts.world, room, you, facts.now)
        draft = self._draft_with(room, share, room.members, board, after, upto)
        if draft.metadata > limit:
            names = [str(id) for id in room.members]
            key = ("squeezed", facts.notation.name, room.id, you, round(share, 1), limit, *room.members)
            members, board, omitted = facts.renderer.cached(
                (*key, repr(board)), lambda: self._squeezed(draft, names, board, limit)
            )
            self.omitted += omitted
            draft = self._draft_with(room, share, members, board, after, upto)
        return draft

    def _draft_with(
        self,
        room: RoomState,
        share: float,
        members: Sequence[int | str],
        board: dict[str, Any],
        after: int,
        upto: int,
    ) -> RoomDraft:
        """Return a room with these members and these fields of its board, and no messages yet."""
        facts = self._facts
        world, notation, renderer, you, now = facts.world, facts.notation, facts.renderer, facts.agent.id, facts.now

        def head() -> tuple[dict[str, Any], str]:
            plain = _room_head_fields(room, you, [str(member) for member in members], shown_share)
            return plain, notation.head(plain)

        shown_share = None if notation.anchored else share
        pace = [] if notation.anchored else self._pace(room)

        rendered_members = [
            renderer.member(("head", notation.name, room.id, you, round(share, 1), *members), head),
            *pace,
            *[self._member(name, value) for name, value in board.items()],
        ]
        cost = sum([member.tokens for member in rendered_members])
        return RoomDraft(
            room,
            share,
            room.id in facts.agent.attention,
            rendered_members,
            cost,
            cost + self._around_tokens,
            after,
            upto,
            upto - 1,
            renderer.room(world, room, notation, now),
            rows=[],
        )

    def _pace(self, room: RoomState) -> list[RenderedMember]:
        world, you, now = self._facts.world, self._facts.agent.id, self._facts.now
        return [
            self._member("time_since_last", describe_last_spoke(world, you, room.id, now)),
            self._member("word_budget", word_budget(world, you, room.id, now)),
        ]

    def _member(self, name: str, value: Any) -> RenderedMember:
        notation = self._facts.notation
        key = ("room", notation.name, name, value if type(value) in _HASHABLE else repr(value))
        return self._facts.renderer.member(key, lambda: ({name: value}, notation.room_member(name, value)))

    def _count_around(self) -> int:
        """Return the tokens that open and close a room's messages, at most."""
        notation, count = self._facts.notation, self._facts.renderer.count
        more = notation.anchored
        ends = [notation.end(rows=rows, last=last, more=more) for rows in (True, False) for last in (True, False)]
        # Numbers of messages with one, and with as many digits as a HUD can show.
        return max(map(count, ends)) + max(count(notation.messages(number)) for number in (0, 1, 9_999))

    def _squeezed(
        self, draft: RoomDraft, members: list[str], board: dict[str, Any], limit: int
    ) -> tuple[list[str], dict[str, Any], list[HudOmission]]:
        """Return members and board of a room that says too much of itself, cut, and what that leaves out.

        A third of the limit is for members, a third for keys and requests, and what is left for the billboard.
        """
        shorter_board, omitted = dict(board), list[HudOmission]()
        notation, count = self._facts.notation, self._facts.renderer.count
        room, you = draft.room, self._facts.agent.id

        def head_tokens(names: Sequence[str]) -> int:
            share = None if notation.anchored else draft.share
            return count(notation.head(_room_head_fields(room, you, list(names), share)))

        def members_fit(names: list[str]) -> bool:
            return head_tokens([*names, _and_more(members, names)]) - head_tokens([]) <= limit // 3

        shown = fitting_beginning(members, members_fit)
        if len(shown) < len(members):
            omitted.append(metadata_omission(room, "members", len(members) - len(shown)))
            members = [*shown, _and_more(members, shown)]
        for name in ("my_keys", "pending_access_requests"):
            rows = shorter_board.get(name, [])
            shown_rows = self._rows_within(name, rows, limit // 6)
            if len(shown_rows) < len(rows):
                omitted.append(metadata_omission(room, name, len(rows) - len(shown_rows)))
                shorter_board[name] = shown_rows
        if text := shorter_board.get("billboard"):
            others = [self._member(name, value) for name, value in shorter_board.items() if name != "billboard"]
            left = limit - head_tokens(members) - sum(member.tokens for member in others)
            left -= self._around_tokens + _MAX_PACE_TOKENS
            shorter = _truncate_to_fit(
                text, lambda beginning: count(notation.room_member("billboard", beginning)) <= left
            )
            if shorter != text:
                lost = len(text) - len(shorter) + 1  # the ellipsis is a character of its own
                omitted.append(metadata_omission(room, "characters of the billboard", lost))
                shorter_board["billboard"] = shorter
        return members, shorter_board, omitted

    def _rows_within(self, name: str, rows: list[Any], limit: int) -> list[Any]:
        return fitting_beginning(rows, lambda beginning: self._member(name, beginning).tokens <= limit)

    def _within_budget(self, drafts: list[RoomDraft]) -> list[RoomDraft]:
        """Return the rooms without those for which there is not even space for what they say of themselves.

        Those of the smallest share go first, then those where the last message is oldest.
        """
        over = sum([draft.metadata for draft in drafts]) - self._budget
        if over <= 0:
            return drafts
        dropped = set()
        for draft in sorted(drafts, key=lambda draft: (draft.share, draft.room.messages[-1:])):
            if over > 0:
                over -= draft.metadata
                dropped.add(draft.room.id)
                self.omitted.append(HudOmission(f"room {draft.room.id}", "room", 1, "there are more rooms than fit"))
        return [draft for draft in drafts if draft.room.id not in dropped]

    # -- messages ------------------------------------------------------------------------------------------------

    def _fill(self, draft: RoomDraft) -> None:
        """Take messages, from the newest back, as long as the next one fits."""
        facts, rendered, stop = self._facts, draft.rendered, draft.next + 1
        left = draft.allowance - draft.spent
        start = facts.renderer.first_within(rendered, draft.after, stop, left, facts.notation, facts.now)
        draft.rows = rendered.rows[start - rendered.first : stop - rendered.first] + draft.rows
        draft.spent += rendered.tokens(start, stop)
        draft.next = start - 1

    def _give_out(self, drafts: list[RoomDraft], left: int) -> None:
        """Give what rooms did not need to those of `%*`, in equal parts."""
        for _ in range(_MAX_ROUNDS):
            wanting = [draft for draft in drafts if draft.has_older and not draft.fixed]
            if not wanting or left < len(wanting) * _MIN_MESSAGE_TOKENS:
                return
            before = left
            for draft, offer in zip(
                wanting, growth.share_budget(left, [growth.FlexClaim()] * len(wanting)), strict=True
            ):
                spent = draft.spent
                draft.allowance = max(draft.allowance, spent + offer)
                self._fill(draft)
                left -= draft.spent - spent
            if left == before:
                return

    def _cut_newest(self, draft: RoomDraft) -> None:
        """Show the beginning of a message that is longer than all there is for its room."""
        if draft.allowance < _MIN_MESSAGE_TOKENS:
            return
        message = self._facts.world.messages[draft.room.messages[draft.next]]
        text = _truncate_to_fit(
            message.content, lambda beginning: self._row(message, beginning).tokens <= draft.allowance
        )
        row = self._row(message, text)
        if row.tokens <= draft.allowance:
            draft.rows.append(row)
            draft.spent += row.tokens
            draft.next -= 1
            omission = HudOmission(
                f"room {draft.room.id}",
                "characters of its newest message",
                len(message.content) - len(text) + 1,
                "longer than the room's budget",
            )
            self.omitted.append(omission)

    def _row(self, message: RoomMessage, text: str) -> RenderedMessage:
        """Return a message with another text; not cached, for it is cut for this room's budget alone."""
        notation = self._facts.notation
        fields = hud_fields.message_fields(
            message, time_format(notation, self._facts.now), reactions=not notation.anchored
        )
        plain = {**fields, "content": text}
        piece = notation.message(plain) + notation.between
        return RenderedMessage(message, message.version, plain, piece, self._facts.renderer.count(piece))


def write_rooms(
    facts: BeatFacts, rooms: list[RoomDraft], *, more: bool = False
) -> tuple[list[str], list[HudSection]]:
    """Return the pieces of all rooms, and what each costs; `more`: something follows them in the document."""
    notation, renderer = facts.notation, facts.renderer
    count = renderer.count
    if len(rooms) == len(facts.agent.rooms):
        opening, opening_tokens = facts.rooms_opening, facts.rooms_opening_tokens
    else:  # some had to go, and the opening says how many there are
        opening = notation.rooms(len(rooms), more=more)
        opening_tokens = count(opening)
    pieces = [opening]
    sections = [HudSection("rooms", opening_tokens)]
    for number, draft in enumerate(rooms, 1):
        end = notation.end(rows=bool(draft.rows), last=number == len(rooms), more=more)
        messages = notation.messages(len(draft.rows))
        pieces += [member.piece for member in draft.members]
        if draft.rows:
            *older, newest = draft.rows
            last, tokens = renderer.with_end(newest.piece, newest.tokens, notation, end)
            tokens += count(messages) + draft.spent - newest.tokens
            pieces.append(messages)
            pieces += [row.piece for row in older]
            pieces.append(last)
        else:
            pieces.append(messages + end)
            tokens = count(pieces[-1])
        sections.append(
            HudSection(
                f"room {draft.room.id}",
                draft.cost + tokens,
                draft.room.id,
                draft.share,
                draft.metadata + draft.allowance,
                draft.cost,
                len(draft.rows),
                draft.visible,
            )
        )
    return pieces, sections


def older_messages(rooms: list[RoomDraft]) -> list[HudOmission]:
    """Return what is left out of the messages of rooms."""
    return [
        HudOmission(f"room {draft.room.id}", "messages", draft.visible - len(draft.rows), "older than what fits")
        for draft in rooms
        if draft.visible > len(draft.rows)
    ]


def _and_more(everyone: Sequence[str], shown: Sequence[str]) -> str:
    return f"+{len(everyone) - len(shown)} more"


def metadata_omission(room: RoomState, subject: str, number: int) -> HudOmission:
    """Return that a room would say more of itself than it may."""
    return HudOmission(f"room {room.id}", subject, number, "a room says no more of itself than its limit")


def _room_head_fields(room: RoomState, you: int, members: list[str], share: float | None) -> dict[str, Any]:
    """Return what a room's entry begins with; `share` is in percent, and left out where there is none."""
    fields = {"id": room.id, "you": you, "is_self_room": room.id == you, "members": members}
    return fields if share is None else {**fields, "attention_pct": round(share, 1)}


def lasting_fields(world: World, room: RoomState) -> dict[str, Any]:
    """Return what a room shows of itself to all members: its billboard, and whether it is closed."""
    board: dict[str, Any] = {}
    if room.id in world.agents and world.agents[room.id].retired:
        board["closed"] = True
    if room.billboard:
        board["billboard"] = room.billboard
    return board


def passing_fields(world: World, room: RoomState, you: int, now: int) -> dict[str, Any]:
    """Return what a room shows one member: its own messages that wait; to the owner, labels of keys and requests."""
    board: dict[str, Any] = {}
    if pending := pending_in(world, you, room.id):
        board["pending_messages"] = [hud_fields.pending_fields(message, now) for message in pending]
    # Always there for the owner, even when empty: its absence would say that the room cannot have keys.
    if room.id == you:
        board["my_keys"] = [key.label for key in room.keys]
        board["pending_access_requests"] = [
            {"id": id, "requester_id": world.requests[id].agent, "key_used": world.requests[id].label}
            for id in room.requests
        ]
    return board


def _room_board_fields(world: World, room: RoomState, you: int, now: int) -> dict[str, Any]:
    """Return what a room shows besides, in the order of the first revision."""
    lasting, passing = lasting_fields(world, room), passing_fields(world, room, you, now)
    pending = {name: passing.pop(name) for name in ("pending_messages",) if name in passing}
    return {**pending, **lasting, **passing}


def fitting_beginning(items: Sequence[_T], fits: Callable[[list[_T]], bool]) -> list[_T]:
    """Return as many of the first items as fit together; none where not even one does."""
    return list(items[: largest_fitting(0, len(items), lambda number: fits(list(items[:number])))])


def _truncate_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest beginning of a text that fits, with an ellipsis; the ellipsis alone where none does."""
    return shorten(text, largest_fitting(1, len(text), lambda number: fits(shorten(text, number))))
