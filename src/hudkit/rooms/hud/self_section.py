"""Everything of a HUD before the rooms, within the cap on static parts.

Over the cap, in this order: knowledge is written on one line, the oldest recent actions go, then the examples of
instructions, then the end of a long background, then knowledge of the least weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from hudkit.compose import shorten
from hudkit.errors import BudgetError
from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.agent_hud import HudOmission, HudSection
from hudkit.rooms.hud.cached_renderer import CachedRenderer, RenderedAction
from hudkit.rooms.hud.hud_fields import format_iso, largest_fitting
from hudkit.rooms.hud.notations import LEGEND, Notation
from hudkit.rooms.knowledge_tree import knowledge_json
from hudkit.rooms.prompts import fill_placeholders, load_prompts, read_actions
from hudkit.rooms.prompts.prompt_files import BOT_INSTRUCTIONS, DIRECTIVES, GATED_CATEGORY, PERSONA_INSTRUCTIONS
from hudkit.rooms.world import AgentState, World, WorldRules

_FULL = "memory.full"


def filled_prompts(prompts: Mapping[str, str], rules: WorldRules) -> dict[str, str]:
    """Every prompt with its places filled; hudkit's own where a world has none."""
    return {name: fill_placeholders(text, rules).strip() for name, text in {**load_prompts(), **prompts}.items()}


def memory_advice(prompts: Mapping[str, str], rules: WorldRules) -> str:
    """What an agent is told while its memory is nearly full."""
    return fill_placeholders(prompts.get(_FULL) or load_prompts()[_FULL], rules).strip()


def system_fields(prompts: Mapping[str, str]) -> dict[str, Any]:
    return {"directives": "\n\n".join(prompts[name] for name in DIRECTIVES)}


def meta_fields(prompts: Mapping[str, str], agent: AgentState, examples: bool) -> dict[str, Any]:
    """How to read the HUD and answer it. Without `examples`, the recommended layout of knowledge and the example of
    an answer are left out."""
    parts = [prompts[name] for name in (PERSONA_INSTRUCTIONS if agent.kind == "persona" else BOT_INSTRUCTIONS)]
    if examples:
        parts.append(prompts[f"layouts.{agent.kind}"])
    found: dict[str, Any] = {"instructions": "\n\n".join(parts)}
    if notation := {"compact": LEGEND, "toon": prompts["notation.toon"]}.get(agent.input_format):
        found["notation"] = notation
    found["available_actions"] = {
        one.name: {"_description": one.description, "actions": list(one.actions)}
        for one in read_actions(prompts["actions"])
        if one.name != GATED_CATEGORY or agent.can_create
    }
    answer = agent.output_format
    found["response_format"] = {
        "type": answer,
        "description": f"Answer in {answer.upper()}",
        "instructions": prompts[f"answer.{answer}"],
    }
    if examples:
        found["response_format"]["example"] = prompts[f"answer.{answer}-example"]
    return found


FULL_MEMORY_PERCENT = 80
"""Percent of memory from which on an agent is told how to prune."""

MIN_BACKGROUND_CHARACTERS = 400
"""Characters of a background that stay, whatever else there is."""

STATIC_CAP = "static parts exceed their cap"
_MIDDLE = 0.5  # the weight of what has none


class KnowledgeDraft(msgspec.Struct):
    """Identity and memory of one agent."""

    identity: str
    memory: list[str]
    plain: dict[str, Any]
    tokens: int


class KnowledgeWriter:
    """Writes identity and memory of one agent, whole or cut."""

    def __init__(
        self, world: World, agent: AgentState, notation: Notation, typeset: CachedRenderer, whispers: tuple[str, ...]
    ) -> None:
        self.world, self.agent, self.notation, self.typeset = world, agent, notation, typeset
        self.whispers = whispers

    def whole(self, *, background: str | None = None, tight: bool = False) -> KnowledgeDraft:
        """With all knowledge; `tight`, on one line."""
        return self._mine(self.agent.background if background is None else background, *self._knowledge(tight))

    def cut(self, room: int) -> tuple[KnowledgeDraft, list[HudOmission]]:
        """Within `room` tokens, or as few as they can be, and what is left out then."""
        omitted: list[HudOmission] = []
        background = self.agent.background

        def with_background(characters: int) -> KnowledgeDraft:
            return self.whole(background=shorten(background, characters), tight=True)

        length = largest_fitting(
            MIN_BACKGROUND_CHARACTERS, len(background), lambda n: with_background(n).tokens <= room
        )
        mine = with_background(length)
        if length < len(background):
            omitted.append(
                HudOmission("identity", "characters of the background", len(background) - length, STATIC_CAP)
            )
            background = shorten(background, length)
        if mine.tokens <= room:
            return mine, omitted
        shown, used, *_ = self._knowledge(True)
        leaves = sorted(enumerate(_leaves(shown)), key=lambda one: (-one[1][2], one[0]))

        def with_leaves(number: int) -> KnowledgeDraft:
            kept = _tree({path: value for _, (path, value, _) in sorted(leaves[:number], key=lambda one: one[0])})
            written = self.notation.knowledge(kept, tight=True)
            return self._mine(background, kept, used, written, self.typeset.count(written))

        number = largest_fitting(0, len(leaves), lambda n: with_leaves(n).tokens <= room)
        omitted.append(HudOmission("knowledge", "entries", len(leaves) - number, STATIC_CAP))
        return with_leaves(number), omitted

    def _mine(self, background: str, shown: dict[str, Any], used: int, written: str, tokens: int) -> KnowledgeDraft:
        agent, notation, count = self.agent, self.notation, self.typeset.count
        plain: dict[str, Any] = {"identity": hud_fields.identity_fields(agent, background)}
        key = ("identity", notation.name, agent.kind, agent.id, agent.name, agent.model, background)
        identity = self.typeset.once(key, lambda: notation.identity(plain["identity"]))
        plain["knowledge"], plain["memory_used"] = shown, f"{used}%"
        more = [self._member("memory_used", plain["memory_used"])]
        if used >= FULL_MEMORY_PERCENT:
            plain["advice"] = memory_advice(self.world.prompts, self.world.rules)
            more.append(self._member("advice", plain["advice"]))
        if self.whispers:
            plain["once"] = list(self.whispers)
            more.append(notation.member("once", plain["once"]))
        return KnowledgeDraft(identity, [written, *more], plain, count(identity) + tokens + sum(map(count, more)))

    def _knowledge(self, tight: bool) -> tuple[dict[str, Any], int, str, int]:
        """Knowledge as it is shown, percent of its limit (rounded down), as it is written, and the tokens of that."""
        agent, notation = self.agent, self.notation

        def make() -> tuple[dict[str, Any], int, str, int]:
            shown = hud_fields.knowledge_fields(agent.knowledge, agent.weights)
            written = notation.knowledge(shown, tight=tight)
            return shown, self._used(), written, self.typeset.sum(written)

        key = ("knowledge", notation.name, agent.id, tight, self.world.rules.tokens.knowledge)
        return self.typeset.while_same(key, agent.knowledge, make)

    def _used(self) -> int:
        tokens = self.typeset.sum(knowledge_json(self.agent.knowledge)) if self.agent.knowledge else 0
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


class SharedPrefix(msgspec.Struct):
    """`system` and `meta`: the same for every agent of a kind."""

    text: str
    plain: dict[str, Any]
    tokens: int
    sections: tuple[HudSection, HudSection]
    hashed: Any
    """The state of the digest behind it."""

    def digest_with(self, rest: str) -> str:
        """The digest of a HUD that begins with this, and goes on so."""
        hashed = self.hashed.copy()
        hashed.update(rest.encode())
        digest: str = hashed.hexdigest()
        return digest


class SelfSection(msgspec.Struct):
    """What is before the rooms; `pieces` are those of `self`, as it is written."""

    prefix: SharedPrefix
    pieces: list[str]
    tokens: int
    mine: KnowledgeDraft
    actions: list[RenderedAction]
    now: str
    sections: list[HudSection]
    omitted: list[HudOmission]

    @property
    def plain(self) -> dict[str, Any]:
        """`self` as data."""
        return {**self.mine.plain, "recent_actions": [line.plain for line in self.actions], "now": self.now}


def build_self_section(
    world: World,
    agent: AgentState,
    now: int,
    notation: Notation,
    typeset: CachedRenderer,
    whispers: Sequence[str] = (),
) -> SelfSection:
    """`system`, `meta` and `self` of an agent's HUD. Raises `BudgetError` where what must be there does not fit."""
    budget = world.rules.tokens
    cap = min(budget.static, budget.total - budget.messages)
    lines = typeset.lines(agent, notation, now)
    time = format_iso(now)
    told = notation.now(time)
    around = sum(map(typeset.count, (notation.actions(len(lines)), told, notation.end_actions)))
    history = sum([line.tokens for line in lines])
    self_ = KnowledgeWriter(world, agent, notation, typeset, tuple(whispers))
    prefix, mine = _prefix(world, agent, notation, typeset, True), self_.whole()
    omitted: list[HudOmission] = []
    if prefix.tokens + mine.tokens + around + history > cap:
        mine = self_.whole(tight=True)
    if prefix.tokens + mine.tokens + around > cap:
        prefix = _prefix(world, agent, notation, typeset, False)
        omitted = [HudOmission("meta", "examples", 1, STATIC_CAP)]
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
        omitted.append(HudOmission("recent_actions", "actions", len(lines) - len(kept), STATIC_CAP))
        history = sum([line.tokens for line in kept])
    actions, cost = _actions(kept, history, told, notation, typeset)
    identity = typeset.count(mine.identity)
    return SelfSection(
        prefix,
        [mine.identity, *mine.memory, *actions],
        prefix.tokens + mine.tokens + cost,
        mine,
        kept,
        time,
        [
            *prefix.sections,
            HudSection("identity", identity),
            HudSection("knowledge", mine.tokens - identity),
            HudSection("recent_actions", cost, shown=len(kept)),
        ],
        omitted,
    )


def _prefix(
    world: World, agent: AgentState, notation: Notation, typeset: CachedRenderer, examples: bool
) -> SharedPrefix:
    def make() -> SharedPrefix:
        prompts = filled_prompts(world.prompts, world.rules)
        plain = {"system": system_fields(prompts), "meta": meta_fields(prompts, agent, examples)}
        system, meta = notation.system(plain["system"]), notation.meta(plain["meta"])
        sections = HudSection("system", typeset.count(system)), HudSection("meta", typeset.count(meta))
        text = system + meta
        hashed = blake2b(text.encode(), digest_size=16)
        return SharedPrefix(text, plain, sum(one.tokens for one in sections), sections, hashed)

    key = ("prefix", notation.name, agent.kind, agent.can_create, agent.output_format, examples)
    return typeset.while_same(key, world.prompts, make, world.rules)


def _newest(lines: list[RenderedAction], left: int) -> list[RenderedAction]:
    """As many of the newest as cost no more than is left."""
    for number, line in enumerate(reversed(lines)):
        left -= line.tokens
        if left < 0:
            return lines[len(lines) - number :]
    return lines


def _actions(
    lines: list[RenderedAction], history: int, now: str, notation: Notation, typeset: CachedRenderer
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
