"""One agent's HUD: a pure function of a world and the time; and how its rooms share the token budget.

What is before the rooms comes first (`self_section`); the rooms share what is left of the world's limit:

1. Every room says something of itself (members, billboard, requests): within its own limit, else it is squeezed.
   Rooms for which not even that fits go, those of the smallest share of attention first.
2. Of the budget each room is offered its share of attention, and takes its metadata from that. Where the offers do
   not fit beside all metadata, all of them shrink alike.
3. Each room takes its newest messages, whole, as far as they fit into what it was offered.
4. What rooms did not need goes to those of `%*` that have older messages, in equal parts, up to four times.
5. A room that could show nothing shows the beginning of its newest message.

For example, with 5,000 tokens and rooms A (fixed 50 %), B and C (`%*`, so 25 % each), 100 tokens of metadata each: A
is offered 2,500 − 100 = 2,400, B and C 1,150 each. A's messages take 900 (it has no more), B's 1,150, C's 400. The
2,250 that are left go to B, the only one of `%*` with older messages.

Almost all of a beat's work is looked up in the renderer's caches; see `cached_renderer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hudkit.errors import BudgetError
from hudkit.rooms.hud.agent_hud import AgentHud, BeatFacts, LazyDocument, resolve_beat
from hudkit.rooms.hud.anchored_hud import build_anchored_hud
from hudkit.rooms.hud.cached_renderer import CachedRenderer
from hudkit.rooms.hud.room_allocator import RoomAllocator, RoomDraft, older_messages, write_rooms
from hudkit.rooms.hud.self_section import build_self_section
from hudkit.rooms.world import World


def build_agent_hud(
    world: World,
    agent_id: int,
    now: int,
    renderer: CachedRenderer,
    whispers: Sequence[str] = (),
    base: int | None = None,
) -> AgentHud:
    """Return what an agent sees at `now` (Unix ms), in its format, never over the world's token budget.

    `whispers` (`WorldLog.take_whispers`) are shown as `self.once`. They are in no log, so the digest is that of the
    HUD without them: the one that a replay composes. `base` is what `BeatBegun.base` says of a beat that was; without
    it, it is decided whether the HUD goes on from the agent's base or has a new one.

    Raises `OperationError` where there is no such agent, `BudgetError` where what must be there does not fit.
    """
    return build_hud(resolve_beat(world, agent_id, now, renderer, whispers), base)


def build_hud(facts: BeatFacts, base: int | None = None) -> AgentHud:
    """Return the HUD of a beat whose facts are resolved; see `build_agent_hud`. Raises `BudgetError`."""
    if facts.notation.anchored:
        return build_anchored_hud(facts, base)
    self_section = build_self_section(facts)
    limit = facts.total_limit
    allocator = RoomAllocator(facts, limit - self_section.tokens - facts.rooms_opening_tokens)
    rooms = allocator.allocate()
    while True:
        pieces, sections = write_rooms(facts, rooms)
        rest = "".join([*self_section.pieces, *pieces])
        text = self_section.prefix.text + rest
        tokens = facts.renderer.total(self_section.tokens + sum([section.tokens for section in sections]), text)
        if tokens <= limit:
            break
        _drop_oldest_message(rooms, tokens, limit)
    # Composed a second time, without them: rare, and the only way to the bytes that a replay will have.
    if facts.whispers:
        digest = build_hud(msgspec.structs.replace(facts, whispers=())).digest
    else:
        digest = self_section.prefix.digest_with(rest)

    def document() -> dict[str, Any]:
        plain_rooms = [draft.plain for draft in rooms]
        return {**self_section.prefix.plain, "self": self_section.plain, "rooms": plain_rooms}

    return AgentHud(
        facts.agent.id,
        facts.now,
        facts.notation.name,
        text,
        tokens,
        limit,
        digest,
        len(self_section.prefix.text),
        (*self_section.sections, *sections),
        (*self_section.omitted, *allocator.omitted, *older_messages(rooms)),
        LazyDocument(document),
    )


def _drop_oldest_message(rooms: list[RoomDraft], tokens: int, limit: int) -> None:
    """Take the oldest message away where most are shown: only with a counter by which pieces do not add up.

    Raises `BudgetError` where there is none.
    """
    fullest = max(rooms, key=lambda draft: len(draft.rows), default=None)
    if fullest is None or not fullest.rows:
        raise BudgetError(
            f"the HUD needs {tokens} tokens of {limit}", hint="Raise tokens.total", need=tokens, limit=limit
        )
    fullest.spent -= fullest.rows.pop(0).tokens
