"""Who an agent is, and what it knows, as its HUD says it: whole, or cut to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from hudkit.compose import shorten
from hudkit.rooms.hud import fields, static
from hudkit.rooms.hud.cutting import most_that_fits
from hudkit.rooms.hud.notation import Notation
from hudkit.rooms.hud.seen import Omission
from hudkit.rooms.hud.typesetter import Typesetter
from hudkit.rooms.knowledge import text_of
from hudkit.rooms.world import Agent, World

FULL = 80
"""Percent of memory from which on an agent is told how to prune."""

LEAST_BACKGROUND = 400
"""Characters of a background that stay, whatever else there is."""

STATIC_CAP = "static parts exceed their cap"
_MIDDLE = 0.5  # the weight of what has none


class Mine(msgspec.Struct):
    """Identity and memory of one agent."""

    identity: str
    memory: list[str]
    plain: dict[str, Any]
    tokens: int


class Writer:
    """Writes identity and memory of one agent, whole or cut."""

    def __init__(
        self, world: World, agent: Agent, notation: Notation, typeset: Typesetter, whispers: tuple[str, ...]
    ) -> None:
        self.world, self.agent, self.notation, self.typeset = world, agent, notation, typeset
        self.whispers = whispers

    def whole(self, *, background: str | None = None, tight: bool = False) -> Mine:
        """With all knowledge; `tight`, on one line."""
        return self._mine(self.agent.background if background is None else background, *self._knowledge(tight))

    def cut(self, room: int) -> tuple[Mine, list[Omission]]:
        """Within `room` tokens, or as few as they can be, and what is left out then."""
        omitted: list[Omission] = []
        background = self.agent.background

        def with_background(characters: int) -> Mine:
            return self.whole(background=shorten(background, characters), tight=True)

        length = most_that_fits(LEAST_BACKGROUND, len(background), lambda n: with_background(n).tokens <= room)
        mine = with_background(length)
        if length < len(background):
            omitted.append(Omission("identity", "characters of the background", len(background) - length, STATIC_CAP))
            background = shorten(background, length)
        if mine.tokens <= room:
            return mine, omitted
        shown, used, *_ = self._knowledge(True)
        leaves = sorted(enumerate(_leaves(shown)), key=lambda one: (-one[1][2], one[0]))

        def with_leaves(number: int) -> Mine:
            kept = _tree({path: value for _, (path, value, _) in sorted(leaves[:number], key=lambda one: one[0])})
            written = self.notation.knowledge(kept, tight=True)
            return self._mine(background, kept, used, written, self.typeset.count(written))

        number = most_that_fits(0, len(leaves), lambda n: with_leaves(n).tokens <= room)
        omitted.append(Omission("knowledge", "entries", len(leaves) - number, STATIC_CAP))
        return with_leaves(number), omitted

    def _mine(self, background: str, shown: dict[str, Any], used: int, written: str, tokens: int) -> Mine:
        agent, notation, count = self.agent, self.notation, self.typeset.count
        plain: dict[str, Any] = {"identity": fields.identity(agent, background)}
        key = ("identity", notation.name, agent.kind, agent.id, agent.name, agent.model, background)
        identity = self.typeset.once(key, lambda: notation.identity(plain["identity"]))
        plain["knowledge"], plain["memory_used"] = shown, f"{used}%"
        more = [self._member("memory_used", plain["memory_used"])]
        if used >= FULL:
            plain["advice"] = static.advice(self.world.prompts, self.world.rules)
            more.append(self._member("advice", plain["advice"]))
        if self.whispers:
            plain["once"] = list(self.whispers)
            more.append(notation.member("once", plain["once"]))
        return Mine(identity, [written, *more], plain, count(identity) + tokens + sum(map(count, more)))

    def _knowledge(self, tight: bool) -> tuple[dict[str, Any], int, str, int]:
        """Knowledge as it is shown, percent of its limit (rounded down), as it is written, and the tokens of that."""
        agent, notation = self.agent, self.notation

        def make() -> tuple[dict[str, Any], int, str, int]:
            shown = fields.weighted(agent.knowledge, agent.weights)
            written = notation.knowledge(shown, tight=tight)
            return shown, self._used(), written, self.typeset.sum(written)

        key = ("knowledge", notation.name, agent.id, tight, self.world.rules.tokens.knowledge)
        return self.typeset.while_same(key, agent.knowledge, make)

    def _used(self) -> int:
        tokens = self.typeset.sum(text_of(self.agent.knowledge)) if self.agent.knowledge else 0
        return min(100, tokens * 100 // self.world.rules.tokens.knowledge)

    def _member(self, name: str, value: str) -> str:
        return self.typeset.once(("self", self.notation.name, name, value), lambda: self.notation.member(name, value))


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, float]]:
    """Path, value and weight of everything in a tree of knowledge that is no branch."""
    for name, value in tree.items():
        here = (*path, name)
        if not isinstance(value, dict) or not value:
            yield here, value, _MIDDLE
        elif value.keys() == {"v", "w"}:
            yield here, value, float(value["w"]) if isinstance(value["w"], int | float) else _MIDDLE
        else:
            yield from _leaves(value, here)


def _tree(leaves: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path, value in leaves.items():
        inner = made
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = value
    return made
