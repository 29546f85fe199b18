"""Everything of a HUD before the rooms, within the cap on static parts.

Over the cap, in this order: knowledge is written on one line, the oldest recent actions go, then the examples of
instructions, then the end of a long background, then knowledge of the least weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from hudkit.errors import BudgetError
from hudkit.rooms.hud import static
from hudkit.rooms.hud.mine import STATIC_CAP, Mine, Writer
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.seen import Omission, Section
from hudkit.rooms.hud.times import iso
from hudkit.rooms.hud.typesetter import Line, Typesetter
from hudkit.rooms.world import Agent, World


class Prefix(msgspec.Struct):
    """`system` and `meta`: the same for every agent of a kind."""

    text: str
    plain: dict[str, Any]
    tokens: int
    sections: tuple[Section, Section]
    hashed: Any
    """The state of the digest behind it."""

    def digest_with(self, rest: str) -> str:
        """The digest of a HUD that begins with this, and goes on so."""
        hashed = self.hashed.copy()
        hashed.update(rest.encode())
        digest: str = hashed.hexdigest()
        return digest


class Own(msgspec.Struct):
    """What is before the rooms; `pieces` are those of `self`, as it is written."""

    prefix: Prefix
    pieces: list[str]
    tokens: int
    mine: Mine
    actions: list[Line]
    now: str
    sections: list[Section]
    omitted: list[Omission]

    @property
    def plain(self) -> dict[str, Any]:
        """`self` as data."""
        return {**self.mine.plain, "recent_actions": [line.plain for line in self.actions], "now": self.now}


def own_part(
    world: World, agent: Agent, now: int, notation: Notation, typeset: Typesetter, whispers: Sequence[str] = ()
) -> Own:
    """`system`, `meta` and `self` of an agent's HUD. Raises `BudgetError` where what must be there does not fit."""
    budget = world.rules.tokens
    cap = min(budget.static, budget.total - budget.messages)
    lines = typeset.lines(agent, notation, now)
    time = iso(now)
    told = notation.now(time)
    around = sum(map(typeset.count, (notation.actions(len(lines)), told, notation.end_actions)))
    history = sum([line.tokens for line in lines])
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
    kept = lines if history <= left else _newest(lines, left)
    if len(kept) < len(lines):
        omitted.append(Omission("recent_actions", "actions", len(lines) - len(kept), STATIC_CAP))
        history = sum([line.tokens for line in kept])
    actions, cost = _actions(kept, history, told, notation, typeset)
    identity = typeset.count(mine.identity)
    return Own(
        prefix,
        [mine.identity, *mine.memory, *actions],
        prefix.tokens + mine.tokens + cost,
        mine,
        kept,
        time,
        [
            *prefix.sections,
            Section("identity", identity),
            Section("knowledge", mine.tokens - identity),
            Section("recent_actions", cost, shown=len(kept)),
        ],
        omitted,
    )


def _prefix(world: World, agent: Agent, notation: Notation, typeset: Typesetter, examples: bool) -> Prefix:
    def make() -> Prefix:
        prompts = static.texts(world.prompts, world.rules)
        plain = {"system": static.system(prompts), "meta": static.meta(prompts, agent, examples)}
        system, meta = notation.system(plain["system"]), notation.meta(plain["meta"])
        sections = Section("system", typeset.count(system)), Section("meta", typeset.count(meta))
        text = system + meta
        hashed = blake2b(text.encode(), digest_size=16)
        return Prefix(text, plain, sum(one.tokens for one in sections), sections, hashed)

    key = ("prefix", notation.name, agent.kind, agent.can_create, agent.output_format, examples)
    return typeset.while_same(key, world.prompts, make, world.rules)


def _newest(lines: list[Line], left: int) -> list[Line]:
    """As many of the newest as cost no more than is left."""
    for number, line in enumerate(reversed(lines)):
        left -= line.tokens
        if left < 0:
            return lines[len(lines) - number :]
    return lines


def _actions(
    lines: list[Line], history: int, now: str, notation: Notation, typeset: Typesetter
) -> tuple[list[str], int]:
    """The pieces of recent actions (of `history` tokens), with what is around them and `now` behind them, and what
    they cost."""
    opening = notation.actions(len(lines))
    tokens = typeset.count(opening) + typeset.count(now)
    if not lines:
        return [opening, now], tokens
    *before, newest = lines
    last, cost = typeset.ended(newest.piece, newest.tokens, notation, notation.end_actions)
    pieces = [opening, *[line.piece for line in before], last, now]
    return pieces, tokens + history - newest.tokens + cost
