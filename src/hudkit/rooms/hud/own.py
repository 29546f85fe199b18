"""Everything of a HUD before the rooms, within the cap on static parts.

Over the cap, in this order: knowledge is written on one line, the oldest recent actions go, then the examples of
instructions, then the end of a long background, then knowledge of the least weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from hudkit.errors import BudgetError
from hudkit.rooms.hud import fields, static
from hudkit.rooms.hud.mine import STATIC_CAP, Mine, Writer
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.seen import Omission, Section
from hudkit.rooms.hud.times import DAY, iso
from hudkit.rooms.hud.typesetter import Typesetter, clock
from hudkit.rooms.world import Agent, World


class Own(msgspec.Struct):
    """The part before the rooms, as it is written: `stable` characters of it are those of every agent of a kind."""

    pieces: list[str]
    tokens: int
    stable: int
    document: dict[str, Any]
    sections: list[Section]
    omitted: list[Omission]


class _Prefix(msgspec.Struct):
    """`system` and `meta`."""

    system: str
    meta: str
    plain: dict[str, Any]
    tokens: int


def own_part(
    world: World, agent: Agent, now: int, notation: Notation, typeset: Typesetter, whispers: Sequence[str] = ()
) -> Own:
    """`system`, `meta` and `self` of an agent's HUD. Raises `BudgetError` where what must be there does not fit."""
    budget = world.rules.tokens
    cap = min(budget.static, budget.total - budget.messages)
    rows = _action_rows(agent, now, notation, typeset)
    around = sum(map(typeset.count, _around_actions(notation, len(rows), now)))
    history = sum(typeset.count(body + notation.between) for _, body in rows)
    self_ = Writer(world, agent, notation, typeset, tuple(whispers))
    prefix, mine = _prefix(world, agent, notation, typeset, True), self_.whole()
    omitted: list[Omission] = []
    if prefix.tokens + mine.tokens + around + history > cap:
        mine = self_.whole(tight=True)
    if prefix.tokens + mine.tokens + around > cap:
        prefix = _prefix(world, agent, notation, typeset, False)
        omitted = [Omission("meta", "examples", 1, STATIC_CAP)]
    room = cap - prefix.tokens - around
    if mine.tokens > room:
        key = ("cut", notation.name, room, mine.identity, *mine.memory[1:])
        mine, cut = typeset.while_same(key, agent.knowledge, lambda: self_.cut(room))
        omitted += cut
    left = room - mine.tokens
    if left < 0:
        raise BudgetError(
            f"the static parts of agent {agent.id}'s HUD need {cap - left} tokens of {cap}",
            hint="Raise tokens.total or tokens.static of the world's rules, or shorten its prompts",
            need=cap - left,
            limit=cap,
            path="self",
        )
    kept = _newest(rows, left, typeset, notation)
    if len(kept) < len(rows):
        omitted.append(Omission("recent_actions", "actions", len(rows) - len(kept), STATIC_CAP))
    return _put_together(prefix, mine, kept, now, notation, typeset, omitted)


def _prefix(world: World, agent: Agent, notation: Notation, typeset: Typesetter, examples: bool) -> _Prefix:
    kind = (notation.name, agent.kind, agent.can_create, agent.output_format, examples)

    def make() -> _Prefix:
        prompts = static.texts(world.prompts, world.rules)
        plain = {"system": static.system(prompts), "meta": static.meta(prompts, agent, examples)}
        system, meta = notation.system(plain["system"]), notation.meta(plain["meta"])
        return _Prefix(system, meta, plain, typeset.count(system) + typeset.count(meta))

    return typeset.once(("prefix", kind, world.rules, tuple(world.prompts.items())), make)


def _action_rows(agent: Agent, now: int, notation: Notation, typeset: Typesetter) -> list[tuple[dict[str, Any], str]]:
    """Recent actions, the oldest first: as data, and as they are written."""
    told = clock(notation, now)
    day = now // DAY if notation.short_times else 0

    def row(done: Any) -> tuple[dict[str, Any], str]:
        plain = fields.action(done, told)
        return plain, notation.action(plain)

    return [
        typeset.while_same(("action", notation.name, id(done), day), done, lambda done=done: row(done))  # type: ignore[misc]
        for done in agent.recent
    ]


def _around_actions(notation: Notation, number: int, now: int) -> list[str]:
    return [notation.actions(number), notation.now(iso(now)), notation.end_actions]


def _newest(
    rows: list[tuple[dict[str, Any], str]], left: int, typeset: Typesetter, notation: Notation
) -> list[tuple[dict[str, Any], str]]:
    """As many of the newest as cost no more than is left."""
    for number, (_, body) in enumerate(reversed(rows)):
        left -= typeset.count(body + notation.between)
        if left < 0:
            return rows[len(rows) - number :]
    return rows


def _put_together(
    prefix: _Prefix,
    mine: Mine,
    rows: list[tuple[dict[str, Any], str]],
    now: int,
    notation: Notation,
    typeset: Typesetter,
    omitted: list[Omission],
) -> Own:
    bodies = [body for _, body in rows]
    actions = [notation.actions(len(rows)), *(body + notation.between for body in bodies[:-1])]
    if bodies:
        actions.append(bodies[-1] + notation.end_actions)
    actions.append(notation.now(iso(now)))
    self_plain = {**mine.plain, "recent_actions": [plain for plain, _ in rows], "now": iso(now)}
    count = typeset.count
    sections = [
        Section("system", count(prefix.system)),
        Section("meta", count(prefix.meta)),
        Section("identity", count(mine.identity)),
        Section("knowledge", sum(map(count, mine.memory))),
        Section("recent_actions", sum(map(count, actions)), shown=len(rows)),
    ]
    return Own(
        [prefix.system, prefix.meta, mine.identity, *mine.memory, *actions],
        sum(one.tokens for one in sections),
        len(prefix.system) + len(prefix.meta),
        {**prefix.plain, "self": self_plain},
        sections,
        omitted,
    )
