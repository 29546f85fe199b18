"""A HUD that goes on from a base, so that a provider's prefix cache serves most of it.

Its parts, in order: `system` and `meta` (the same for all agents of a kind); `self`, `rooms` and `people` as they
were when the base was composed, with the messages up to then; `news`, the messages since; and `now`, all that changes
from beat to beat. Within an epoch nothing before `now` changes but that messages are added at the end of `news`: the
request of one beat begins with that of the beat before.

A new base is composed when something in the old one is no longer true (who is in a room, a name, a billboard, the
agent itself, prompts, rules, attention: `AgentState.outdated_seq`), when its times are of another day, when no space
is left for news, when a room with a fixed share of attention exceeds it, or when too much of the memory changed. It
fills `tokens.base_share` of what rooms may have. For example, of 6,000 tokens for rooms the base takes 3,000; with
150 tokens of news a beat 20 beats go on from it, and then it is composed anew from the newest 3,000.

Composing a base needs nothing but the world and `HudBase`, so a replay, or a process that was started again, writes
the same bytes: what it shows is either still the same in the world, or kept in `HudBase`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import is_
from typing import Any

import msgspec

from hudkit.errors import BudgetError
from hudkit.rooms.allowances import FULL_ATTENTION, describe_last_spoke, word_budget
from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.agent_hud import AgentHud, BeatFacts, HudOmission, HudSection, LazyDocument
from hudkit.rooms.hud.cached_renderer import RenderedAction, RenderedMessage
from hudkit.rooms.hud.hud_fields import DAY, format_iso
from hudkit.rooms.hud.notations import PresentPieces
from hudkit.rooms.hud.room_allocator import (
    RoomAllocator,
    RoomDraft,
    fitting_beginning,
    metadata_omission,
    older_messages,
    passing_fields,
    write_rooms,
)
from hudkit.rooms.hud.self_section import (
    CAP_EXCEEDED,
    FULL_MEMORY_PERCENT,
    KnowledgeWriter,
    SharedPrefix,
    memory_advice,
    memory_used,
    newest_within,
    shared_prefix,
)
from hudkit.rooms.world import HudBase

_MAX_CHANGES = 400
"""Tokens of changes of the memory that are told beside the one in the base, before it is written anew."""
_PRESENT_RESERVE = 150
"""Tokens of the cap on static parts that stay for what is told of the present."""
_MAX_TRIES = 8
"""Times that a base is made smaller until the whole fits."""


class _WrittenBase(msgspec.Struct):
    """A base as it is written, with all before it."""

    prefix: SharedPrefix
    text: str
    """Without `prefix`."""
    tokens: int
    """With it."""
    static_tokens: int
    """Those of `prefix` and `self`."""
    self_fields: dict[str, Any]
    rooms: list[RoomDraft]
    names: dict[str, str]
    sections: list[HudSection]
    omitted: list[HudOmission]
    room_dropped: bool
    digest_state: Any
    """The state of the digest behind it: of a HUD only the rest is digested in each beat."""


class _NewsSoFar(msgspec.Struct):
    """The messages since a base in the rooms that it shows, in the order in which they were posted.

    It grows with the world: each beat of its agent adds what came since the last one, and writes no more than that.
    """

    looked: list[int]
    """How many messages of each room of the base were looked at."""
    items: list[RenderedMessage] = []
    older: str = ""
    """All but the newest as they are written, and their tokens."""
    older_tokens: int = 0
    by_room: dict[int, tuple[int, int]] = {}
    """Tokens and number of the messages by room."""
    senders: set[int] = set()


class _ChangedMemory(msgspec.Struct):
    """What of a memory is otherwise than in the base, how it is written in the present, and the tokens of that."""

    plain: dict[str, Any]
    piece: str
    tokens: int


class _Composed(msgspec.Struct):
    """A HUD of one base."""

    base: HudBase
    written: _WrittenBase
    news: list[RenderedMessage]
    news_by_room: dict[int, tuple[int, int]]
    news_text: str
    news_tokens: int
    present: dict[str, Any]
    present_piece: str
    present_tokens: int
    omitted: list[HudOmission]
    overdrawn: bool
    """A room with a fixed share exceeds it, or too much of the memory changed."""

    @property
    def tokens(self) -> int:
        return self.written.tokens + self.news_tokens + self.present_tokens


def build_anchored_hud(facts: BeatFacts, budget: int | None = None) -> AgentHud:
    """Return the HUD of a beat. `budget`: what the beat's event says of its base; without it, it is decided here.

    Raises `BudgetError` where what must be there does not fit.
    """
    base = facts.agent.base
    composed: _Composed | None = None
    if budget:
        composed = _compose(facts, _new_base(facts, budget))
    elif base is not None and (budget == 0 or _is_current(facts, base)):
        composed = _compose(facts, base)
        fits = facts.renderer.total(composed.tokens, "") <= facts.total_limit and not composed.overdrawn
        composed = composed if fits or budget == 0 else None
    if composed is None:
        composed = _rebase(facts)
        # The beat's event makes this base the agent's: the next beat goes on from it as it is written here.
        facts.renderer.hand_over(_base_key(facts), (composed.base, composed.written, *_world_parts(facts)))
    hud = _as_hud(facts, composed)
    if not facts.whispers:
        return hud
    # Whispers are in no log: the digest is that of the HUD without them, as a replay composes it.
    plain = _as_hud(facts, _compose(msgspec.structs.replace(facts, whispers=()), composed.base))
    return msgspec.structs.replace(hud, digest=plain.digest)


def _new_base(facts: BeatFacts, budget: int) -> HudBase:
    world, agent = facts.world, facts.agent
    weights = dict(agent.weights)
    return HudBase(world.seq, facts.now, world.next_message - 1, budget, agent.knowledge, weights)


def _is_current(facts: BeatFacts, base: HudBase) -> bool:
    """Return whether what a base shows is still true."""
    if base.seq < facts.agent.outdated_seq:
        return False
    return not facts.notation.short_times or base.composed_at // DAY == facts.now // DAY


def _rebase(facts: BeatFacts) -> _Composed:
    """Return the HUD with a new base: as large as its share, and smaller where the whole would not fit."""
    rules, limit = facts.world.rules.tokens, facts.total_limit
    empty = _compose(facts, _new_base(facts, 1))
    space = limit - empty.written.static_tokens - empty.present_tokens - empty.news_tokens
    budget = max(1, int(space * rules.base_share))
    composed = _compose(facts, _new_base(facts, budget))
    if composed.written.room_dropped:  # rather all rooms with fewer messages than space for news
        composed = _compose(facts, _new_base(facts, max(budget, space)))
    for _ in range(_MAX_TRIES):
        over = composed.tokens - limit
        if over <= 0:
            return composed
        composed = _compose(facts, _new_base(facts, max(1, composed.base.budget - over)))
    if composed.tokens > limit:
        raise BudgetError(
            f"the HUD of agent {facts.agent.id} needs {composed.tokens} tokens of {limit}",
            hint="Raise tokens.total of the world's rules, or shorten its prompts",
            need=composed.tokens,
            limit=limit,
        )
    return composed


def _compose(facts: BeatFacts, base: HudBase) -> _Composed:
    written = _written_base(facts, base)
    notation, renderer = facts.notation, facts.renderer
    news = _news_since(facts, base, written)
    text = notation.news(len(news.items))
    tokens = renderer.count(text)
    if news.items:
        newest = news.items[-1]
        last, cost = renderer.with_end(newest.piece, newest.tokens, notation, notation.end_news)
        text += news.older + last
        tokens += news.older_tokens + cost
    present, shown, omitted, too_many_changes = _present(facts, base, written, news)
    piece, present_tokens = _write_present(facts, base, present, shown)
    return _Composed(
        base,
        written,
        news.items.copy(),  # it grows, and the document may be read later
        news.by_room,
        text,
        tokens,
        present,
        piece,
        present_tokens,
        omitted,
        too_many_changes or _exceeds_share(facts, written, news),
    )


def _news_since(facts: BeatFacts, base: HudBase, written: _WrittenBase) -> _NewsSoFar:
    """Return the messages since a base; those of the agent's base are kept, and what is new is added."""
    world, you = facts.world, facts.agent.id

    def make() -> _NewsSoFar:
        return _NewsSoFar(
            [
                bisect_right(draft.room.messages, max(base.upto, draft.room.joined_after[you]))
                for draft in written.rooms
            ]
        )

    if base is facts.agent.base:
        news = facts.renderer.while_same(("news", facts.notation.name, you), base, make, world.messages)
    else:
        news = make()
    looked = [len(draft.room.messages) for draft in written.rooms]
    if looked == news.looked:
        return news
    ids: list[int] = []
    for draft, before in zip(written.rooms, news.looked, strict=True):
        ids += draft.room.messages[before:]
    # All are written before one is kept: what cannot be written must not be lost to the beats after this one.
    added = [facts.renderer.news_item(world.messages[id], facts.notation, facts.now) for id in sorted(ids)]
    news.looked = looked
    for item in added:
        if news.items:
            news.older += news.items[-1].piece
            news.older_tokens += news.items[-1].tokens
        news.items.append(item)
        tokens, count = news.by_room.get(item.message.room, (0, 0))
        news.by_room[item.message.room] = tokens + item.tokens, count + 1
        news.senders.add(item.message.sender)
    return news


def _exceeds_share(facts: BeatFacts, written: _WrittenBase, news: _NewsSoFar) -> bool:
    """Return whether a room with a fixed share of attention has more than that because of news."""
    space = facts.total_limit - written.static_tokens
    for draft in written.rooms:
        tokens, _ = news.by_room.get(draft.room.id, (0, 0)) if draft.fixed else (0, 0)
        if tokens and draft.cost + draft.spent + tokens > space * draft.share / FULL_ATTENTION:
            return True
    return False


# -- the base ------------------------------------------------------------------------------------------------------


def _written_base(facts: BeatFacts, base: HudBase) -> _WrittenBase:
    """Return a base as it is written; that of the agent is kept as long as it is the same."""

    def make() -> _WrittenBase:
        # As it was: what the base has of the agent's own, and messages up to then.
        then = msgspec.structs.replace(facts.agent, knowledge=base.knowledge, weights=base.weights)
        return _write_base(msgspec.structs.replace(facts, agent=then, upto=base.upto, whispers=()), base)

    def take_over() -> _WrittenBase:
        handed: tuple[HudBase, _WrittenBase, object, object] | None = facts.renderer.take_over(_base_key(facts))
        if handed is None or handed[0] != base:
            return make()
        # What is written has the rooms of its world in it: one that was read again has others.
        same_world = all(map(is_, handed[2:], _world_parts(facts)))
        return handed[1] if same_world else make()

    if base is not facts.agent.base:
        return make()
    return facts.renderer.while_same(_base_key(facts), base, take_over, facts.world.prompts)


def _world_parts(facts: BeatFacts) -> tuple[object, object]:
    """Return what is another object in a world that was read again, and after a change of prompts."""
    return facts.world.messages, facts.world.prompts


def _base_key(facts: BeatFacts) -> tuple[str, str, int]:
    return "base", facts.notation.name, facts.agent.id


def _write_base(facts: BeatFacts, base: HudBase) -> _WrittenBase:
    notation, renderer = facts.notation, facts.renderer
    cap = facts.static_limit - _PRESENT_RESERVE
    as_of = format_iso(base.composed_at)
    as_of_piece = notation.now(as_of, "as_of")
    around = renderer.count(as_of_piece)
    writer, omitted = KnowledgeWriter(facts), list[HudOmission]()
    prefix, own = shared_prefix(facts, examples=True), writer.whole()
    if prefix.tokens + own.tokens + around > cap:
        own = writer.whole(tight=True)
    if prefix.tokens + own.tokens + around > cap:
        prefix = shared_prefix(facts, examples=False)
        omitted.append(HudOmission("meta", "examples", 1, CAP_EXCEEDED))
    available = cap - prefix.tokens - around
    if own.tokens > available:
        own, cut_away = writer.cut(available)
        omitted += cut_away
    if own.tokens > available:
        need = cap + own.tokens - available
        raise BudgetError(
            f"the static parts of agent {facts.agent.id}'s HUD need {need} tokens of {cap}",
            hint="Raise tokens.total or tokens.static of the world's rules, or shorten its prompts",
            need=need,
            limit=cap,
            path="self",
        )
    static_tokens = prefix.tokens + own.tokens + around
    allocator = RoomAllocator(facts, base.budget - facts.rooms_opening_tokens)
    rooms = allocator.allocate()
    room_pieces, room_sections = write_rooms(facts, rooms, more=True)
    names = _names(facts, _seen_ids(rooms))
    people = notation.part("people", names)
    identity_tokens = renderer.count(own.identity)
    people_tokens = renderer.sum(people)
    sections = [
        *prefix.sections,
        HudSection("identity", identity_tokens),
        HudSection("knowledge", own.tokens - identity_tokens + around),
        *room_sections,
        HudSection("people", people_tokens),
    ]
    text = "".join([own.identity, *own.memory, as_of_piece, *room_pieces, people])
    return _WrittenBase(
        prefix,
        text,
        static_tokens + sum([section.tokens for section in room_sections]) + people_tokens,
        static_tokens,
        {**own.plain, "as_of": as_of},
        rooms,
        names,
        sections,
        [*omitted, *allocator.omitted, *older_messages(rooms)],
        len(rooms) < len(facts.agent.rooms),
        prefix.digest_state_with(text),
    )


def _seen_ids(rooms: list[RoomDraft]) -> list[int]:
    """Return the numbers of the agents that stand in rooms: as members, and as senders of what is shown."""
    seen: dict[str, None] = {}
    for draft in rooms:
        seen |= dict.fromkeys(draft.members[0].plain["members"])
        seen |= dict.fromkeys(row.plain["sender"] for row in draft.rows)
    return sorted(int(id) for id in seen if id.isdecimal())


def _names(facts: BeatFacts, ids: Iterable[int]) -> dict[str, str]:
    """Return names by number; who stands there with its name already is left out."""
    agents = facts.world.agents
    named = {str(id): agents[id].name for id in ids if id in agents}
    return {"0": "The Architect", **named} if 0 in ids else named


# -- the present ---------------------------------------------------------------------------------------------------


def _present(
    facts: BeatFacts, base: HudBase, written: _WrittenBase, news: _NewsSoFar
) -> tuple[dict[str, Any], list[RenderedAction], list[HudOmission], bool]:
    """Return all that changes from beat to beat, with its actions as they are written; what of it is left out, and
    whether the memory changed too much."""
    world, agent, notation, renderer = facts.world, facts.agent, facts.notation, facts.renderer
    omitted: list[HudOmission] = []
    used = memory_used(facts)
    present: dict[str, Any] = {"time": format_iso(facts.now), "memory_used": f"{used}%"}
    if used >= FULL_MEMORY_PERCENT:
        present["advice"] = memory_advice(world.prompts, world.rules)
    if facts.whispers:
        present["once"] = list(facts.whispers)
    too_many_changes = False
    if agent.knowledge is not base.knowledge or agent.weights != base.weights:
        changed = _changed_memory(facts, base)
        if changed.plain:
            present["changed"] = changed.plain
            too_many_changes = changed.tokens > _MAX_CHANGES
    actions = renderer.actions(agent, notation, facts.now)
    left = max(0, facts.static_limit - written.static_tokens - _PRESENT_RESERVE // 2)
    shown = newest_within(actions, left)
    if len(shown) < len(actions):
        omitted.append(HudOmission("recent_actions", "actions", len(actions) - len(shown), CAP_EXCEEDED))
    present["recent_actions"] = [action.plain for action in shown]
    requesters = [world.requests[id].agent for id in world.rooms[agent.id].requests]
    seen = news.senders.union(requesters) if requesters else news.senders
    if newcomers := sorted(id for id in seen if id > 0 and str(id) not in written.names):
        present["people"] = _names(facts, newcomers)
    present["rooms"] = [_room_now(facts, draft, news, omitted) for draft in written.rooms]
    return present, shown, omitted, too_many_changes


def _changed_memory(facts: BeatFacts, base: HudBase) -> _ChangedMemory:
    """Return what of the memory is otherwise than in the base, kept as long as that is the same."""
    agent, notation, renderer = facts.agent, facts.notation, facts.renderer

    def make() -> _ChangedMemory:
        before = hud_fields.knowledge_fields(base.knowledge, base.weights)
        changes = hud_fields.knowledge_changes(before, hud_fields.knowledge_fields(agent.knowledge, agent.weights))
        pieces = notation.present_pieces
        piece = pieces.member("changed", changes) if pieces else notation.part("changed", changes)
        return _ChangedMemory(changes, piece, renderer.sum(piece))

    # Weights change with the memory that they are of, and a memory that changes is another object.
    return renderer.while_same(("changed", notation.name, agent.id), agent.knowledge, make, base)


def _write_present(
    facts: BeatFacts, base: HudBase, present: dict[str, Any], actions: list[RenderedAction]
) -> tuple[str, int]:
    """Return the present as it is written, and its tokens; in pieces where the notation has such."""
    notation, renderer, pieces = facts.notation, facts.renderer, facts.notation.present_pieces
    if pieces is None:
        piece = notation.present(present)
        return piece, renderer.sum(piece)
    texts = [pieces.opening]
    tokens = renderer.count(pieces.opening)
    for name, value in present.items():
        if name == "recent_actions" and actions:
            *older, newest = actions
            last, cost = renderer.with_end(newest.piece, newest.tokens, notation, pieces.end_actions)
            texts += [pieces.actions, *[action.piece for action in older], last]
            tokens += renderer.count(pieces.actions) + sum([action.tokens for action in older]) + cost
        elif name == "changed":
            changed = _changed_memory(facts, base)
            texts.append(changed.piece)
            tokens += changed.tokens
        elif name != "rooms":
            piece = pieces.member(name, value)
            texts.append(piece)
            tokens += renderer.sum(piece)
    rooms = present["rooms"]
    texts.append(pieces.rooms if rooms else pieces.no_rooms)
    tokens += renderer.count(texts[-1])
    for number, room in enumerate(rooms, 1):
        texts.append(pieces.room)
        tokens += renderer.count(pieces.room)
        for left, (name, value) in enumerate(room.items(), 1 - len(room)):
            piece, cost = _room_member(facts, pieces, name, value, last=left == 0)
            texts.append(piece)
            tokens += cost
        texts.append(pieces.end_room if number < len(rooms) else pieces.end_last_room)
        tokens += renderer.count(texts[-1])
    if rooms:
        texts.append(pieces.end_rooms)
        tokens += renderer.count(pieces.end_rooms)
    texts.append(pieces.end)
    return "".join(texts), tokens + renderer.count(pieces.end)


def _room_member(facts: BeatFacts, pieces: PresentPieces, name: str, value: Any, *, last: bool) -> tuple[str, int]:
    """Return a member of a room in the present as it is written, and its tokens: those of rooms are much alike."""
    renderer = facts.renderer
    if value and isinstance(value, list | dict):
        piece = pieces.room_member(name, value, last=last)
        return piece, renderer.sum(piece)
    key = ("present", facts.notation.name, name, str(value), last)
    member = renderer.member(key, lambda: ({}, pieces.room_member(name, value, last=last)))
    return member.piece, member.tokens


def _room_now(facts: BeatFacts, draft: RoomDraft, news: _NewsSoFar, omitted: list[HudOmission]) -> dict[str, Any]:
    """Return what a room shows that changes: attention and pace, what waits, keys and requests, reactions."""
    world, you, room = facts.world, facts.agent.id, draft.room
    fields: dict[str, Any] = {
        "id": room.id,
        "attention_pct": round(draft.share, 1),
        "time_since_last": describe_last_spoke(world, you, room.id, facts.now),
        "word_budget": word_budget(world, you, room.id, facts.now),
    }
    limit = max(facts.metadata_limit, int(facts.total_limit * draft.share / FULL_ATTENTION) // 8) // 3
    for name, rows in passing_fields(world, room, you, facts.now).items():
        fields[name] = _rows_within(facts, name, rows, limit)
        if len(fields[name]) < len(rows):
            omitted.append(metadata_omission(room, name, len(rows) - len(fields[name])))
    if room.reactions:
        shown = [*draft.rows, *[item for item in news.items if item.message.room == room.id]]
        if reacted := [row.message for row in shown if row.message.reactions]:
            fields["reactions"] = {str(message.id): hud_fields.reaction_counts(message) for message in reacted}
    return fields


def _rows_within(facts: BeatFacts, name: str, rows: list[Any], limit: int) -> list[Any]:
    notation, count = facts.notation, facts.renderer.sum
    return fitting_beginning(rows, lambda beginning: count(notation.room_member(name, beginning)) <= limit)


# -- the whole -----------------------------------------------------------------------------------------------------


def _as_hud(facts: BeatFacts, composed: _Composed) -> AgentHud:
    written = composed.written
    prefix = written.prefix
    news_text = composed.news_text
    rest = news_text + composed.present_piece
    text = "".join((prefix.text, written.text, rest))
    digest = written.digest_state.copy()
    digest.update(rest.encode())
    base_end = len(prefix.text) + len(written.text)
    room_news = composed.news_by_room
    space = facts.total_limit - written.static_tokens
    sections = [_with_news(section, room_news, space) for section in written.sections]
    news_tokens = composed.news_tokens - sum([tokens for tokens, _ in room_news.values()])
    return AgentHud(
        facts.agent.id,
        facts.now,
        facts.agent.input_format,
        text,
        facts.renderer.total(composed.tokens, text),
        facts.total_limit,
        digest.hexdigest(),
        len(prefix.text),
        (
            *sections,
            HudSection("news", news_tokens),
            HudSection("now", composed.present_tokens, shown=len(composed.present["recent_actions"])),
        ),
        (*written.omitted, *composed.omitted),
        LazyDocument(lambda: _document(composed)),
        (base_end, base_end + len(news_text) - len(facts.notation.end_news) if composed.news else base_end),
        composed.base.budget if composed.base is not facts.agent.base else 0,
    )


def _with_news(section: HudSection, news: dict[int, tuple[int, int]], space: int) -> HudSection:
    """Return a section with the news of its room; its limit is that of the whole HUD."""
    if section.room is None:
        return section
    tokens, number = news.get(section.room, (0, 0))
    return HudSection(
        section.name,
        section.tokens + tokens,
        section.room,
        section.share,
        max(section.limit, int(space * section.share / FULL_ATTENTION)),
        section.metadata,
        section.shown + number,
        section.visible + number,
    )


def _document(composed: _Composed) -> dict[str, Any]:
    """Return a HUD as data, with everything where document 003 has it."""
    written, present = composed.written, composed.present
    return merge_present(
        {
            **written.prefix.plain,
            "self": written.self_fields,
            "rooms": [draft.plain for draft in written.rooms],
            "people": written.names,
            "news": [{"room_id": item.message.room, **item.plain} for item in composed.news],
            "now": present,
        }
    )


def merge_present(wire: dict[str, Any]) -> dict[str, Any]:
    """Return a HUD's document as 003 has it, from the one that an agent reads: news and the present in their places.

    The news in rooms' messages, `now` in `self` and in each room, reactions at their messages, and the memory as it
    is now.
    """
    present = dict(wire["now"])
    changes = present.pop("changed", {})
    people = {**wire["people"], **present.pop("people", {})}
    rooms_now = {room["id"]: room for room in present.pop("rooms")}
    self_ = {name: value for name, value in wire["self"].items() if name != "as_of"}
    self_["knowledge"] = _changed(self_["knowledge"], changes)
    time = present.pop("time")
    rooms = []
    for room in wire["rooms"]:
        passing = {name: value for name, value in rooms_now[room["id"]].items() if name != "id"}
        reactions = passing.pop("reactions", {})
        news = [item for item in wire["news"] if item["room_id"] == room["id"]]
        rows = [*room["messages"], *[{k: v for k, v in item.items() if k != "room_id"} for item in news]]
        messages = [
            {**row, "reactions": reactions[str(row["id"])]} if str(row["id"]) in reactions else row for row in rows
        ]
        lasting = {name: value for name, value in room.items() if name != "messages"}
        rooms.append({**lasting, **passing, "messages": messages})
    return {
        "system": wire["system"],
        "meta": wire["meta"],
        "self": {**self_, **present, "now": time},
        "people": people,
        "rooms": rooms,
    }


def _changed(knowledge: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return a memory with changes by path."""
    for path, value in changes.items():
        knowledge = _with_change(knowledge, path.split("."), value)
    return knowledge


def _with_change(tree: dict[str, Any], names: list[str], value: Any) -> dict[str, Any]:
    name, *below = names
    if below:
        branch = tree.get(name)
        value = _with_change(branch if isinstance(branch, dict) else {}, below, value)
    elif value is None:
        return {key: item for key, item in tree.items() if key != name}
    return {**tree, name: value}
