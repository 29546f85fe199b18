"""Everything of a HUD before the rooms: prompts, who the agent is, what it knows and did, within the cap on static
parts.

Over the cap, in this order: knowledge is written on one line, the oldest recent actions go, then the examples of
instructions, then the end of a long background, then knowledge of the least weight. For example, with a cap of 5,000
tokens, prompts of 2,600 (300 of them examples), identity and knowledge of 2,700 on one line, and actions of 400:
without the actions these are 5,300, too many, so the examples go (5,000), and for actions nothing is left.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

import msgspec

from hudkit.compose import shorten
from hudkit.errors import BudgetError
from hudkit.rooms.hud import hud_fields
from hudkit.rooms.hud.agent_hud import BeatFacts, HudOmission, HudSection
from hudkit.rooms.hud.cached_renderer import RenderedAction
from hudkit.rooms.hud.hud_fields import format_iso, largest_fitting
from hudkit.rooms.hud.notations import LEGEND
from hudkit.rooms.knowledge_tree import knowledge_json
from hudkit.rooms.prompts import (
    BOT_INSTRUCTIONS,
    DIRECTIVES,
    GATED_CATEGORY,
    PERSONA_INSTRUCTIONS,
    fill_placeholders,
    load_prompts,
    read_actions,
)
from hudkit.rooms.world import AgentState, WorldRules

FULL_MEMORY_PERCENT = 80
"""Percent of memory from which on an agent is told how to prune."""

_MIN_BACKGROUND_CHARACTERS = 400
"""Characters of a background that stay, whatever else there is."""

CAP_EXCEEDED = "static parts exceed their cap"
_UNWEIGHTED = 0.5
"""The weight of knowledge that has none: the middle."""


class SharedPrefix(msgspec.Struct):
    """`system` and `meta`: the same for every agent of a kind."""

    text: str
    plain: dict[str, Any]
    tokens: int
    sections: tuple[HudSection, HudSection]
    digest_state: Any
    """The state of the digest behind it: of a HUD only the rest is digested in each beat."""

    def digest_with(self, rest: str) -> str:
        """Return the digest of a HUD that begins with this, and goes on so."""
        digest: str = self.digest_state_with(rest).hexdigest()
        return digest

    def digest_state_with(self, text: str) -> Any:
        """Return the state of the digest behind this and a text."""
        state = self.digest_state.copy()
        state.update(text.encode())
        return state


class IdentityAndKnowledge(msgspec.Struct):
    """Who an agent is and what it knows, as pieces, as data, and the tokens of both."""

    identity: str
    memory: list[str]
    plain: dict[str, Any]
    tokens: int


class _SelfSection(msgspec.Struct):
    """What is before the rooms; `pieces` are those of `self`, as it is written."""

    prefix: SharedPrefix
    pieces: list[str]
    tokens: int
    knowledge: IdentityAndKnowledge
    actions: list[RenderedAction]
    now: str
    sections: list[HudSection]
    omitted: list[HudOmission]

    @property
    def plain(self) -> dict[str, Any]:
        """`self` as data."""
        actions = [action.plain for action in self.actions]
        return {**self.knowledge.plain, "recent_actions": actions, "now": self.now}


def memory_used(facts: BeatFacts) -> int:
    """Return the percent of its memory that an agent uses."""
    agent, renderer, limit = facts.agent, facts.renderer, facts.world.rules.tokens.knowledge

    def make() -> int:
        return min(100, renderer.sum(knowledge_json(agent.knowledge)) * 100 // limit) if agent.knowledge else 0

    return renderer.while_same(("memory_used", agent.id, limit), agent.knowledge, make)


def build_self_section(facts: BeatFacts) -> _SelfSection:
    """Return `system`, `meta` and `self` of an agent's HUD.

    Raises `BudgetError` where what must be there does not fit.
    """
    agent, notation, renderer, cap = facts.agent, facts.notation, facts.renderer, facts.static_limit
    actions = renderer.actions(agent, notation, facts.now)
    time = format_iso(facts.now)
    now_piece = notation.now(time)
    around = sum(map(renderer.count, (notation.actions(len(actions)), now_piece, notation.end_actions)))
    action_tokens = sum([action.tokens for action in actions])
    # Whole first: nearly every beat fits, and all of that is in the caches.
    writer = KnowledgeWriter(facts)
    prefix, knowledge = shared_prefix(facts, examples=True), writer.whole()
    omitted: list[HudOmission] = []
    if prefix.tokens + knowledge.tokens + around + action_tokens > cap:
        knowledge = writer.whole(tight=True)
    if prefix.tokens + knowledge.tokens + around > cap:
        prefix = shared_prefix(facts, examples=False)
        omitted = [HudOmission("meta", "examples", 1, CAP_EXCEEDED)]
    available = cap - prefix.tokens - around
    if knowledge.tokens > available:
        # Cutting tries many lengths, so what came of it is kept as long as the memory is the same.
        cuts: dict[Hashable, tuple[IdentityAndKnowledge, list[HudOmission]]]
        cuts = renderer.while_same(("cut", notation.name, agent.id), agent.knowledge, dict)
        key = available, knowledge.identity, *knowledge.memory[1:]
        if key not in cuts:
            cuts.clear()
            cuts[key] = writer.cut(available)
        knowledge, cut_away = cuts[key]
        omitted += cut_away
    left = available - knowledge.tokens
    # Prompts and the shortest identity alone are too much: only the world's owner can change that.
    if left < 0:
        raise BudgetError(
            f"the static parts of agent {agent.id}'s HUD need {cap - left} tokens of {cap}",
            hint="Raise tokens.total or tokens.static of the world's rules, or shorten its prompts",
            need=cap - left,
            limit=cap,
            path="self",
        )
    shown = actions if action_tokens <= left else newest_within(actions, left)
    if len(shown) < len(actions):
        omitted.append(HudOmission("recent_actions", "actions", len(actions) - len(shown), CAP_EXCEEDED))
        action_tokens = sum([action.tokens for action in shown])
    action_pieces, cost = _action_pieces(facts, shown, action_tokens, now_piece)
    identity_tokens = renderer.count(knowledge.identity)
    return _SelfSection(
        prefix,
        [knowledge.identity, *knowledge.memory, *action_pieces],
        prefix.tokens + knowledge.tokens + cost,
        knowledge,
        shown,
        time,
        [
            *prefix.sections,
            HudSection("identity", identity_tokens),
            HudSection("knowledge", knowledge.tokens - identity_tokens),
            HudSection("recent_actions", cost, shown=len(shown)),
        ],
        omitted,
    )


# -- prompts -------------------------------------------------------------------------------------------------------


def shared_prefix(facts: BeatFacts, *, examples: bool) -> SharedPrefix:
    """Return what is the same for all agents of a kind, with or without examples."""
    world, agent, notation, renderer = facts.world, facts.agent, facts.notation, facts.renderer

    def make() -> SharedPrefix:
        prompts = _filled_prompts(world.prompts, world.rules)
        tools = world.rules.tools
        system_fields = {"directives": "\n\n".join(prompts[name] for name in DIRECTIVES)}
        plain = {"system": system_fields, "meta": _meta_fields(prompts, agent, tools, examples)}
        system, meta = notation.system(plain["system"]), notation.meta(plain["meta"])
        sections = HudSection("system", renderer.count(system)), HudSection("meta", renderer.count(meta))
        text = system + meta
        tokens = sum(section.tokens for section in sections)
        return SharedPrefix(text, plain, tokens, sections, blake2b(text.encode(), digest_size=16))

    # By what differs among agents; nothing here may name one, or the prefix would not be shared.
    key = ("prefix", notation.name, agent.kind, agent.can_create, agent.output_format, examples)
    return renderer.while_same(key, world.prompts, make, world.rules)


def _filled_prompts(prompts: Mapping[str, str], rules: WorldRules) -> dict[str, str]:
    """Return every prompt with its placeholders filled; hudkit's own where a world has none."""
    return {name: fill_placeholders(text, rules).strip() for name, text in {**load_prompts(), **prompts}.items()}


def _meta_fields(
    prompts: Mapping[str, str], agent: AgentState, tools: Mapping[str, str], examples: bool
) -> dict[str, Any]:
    """Return how to read the HUD and answer it.

    Without `examples`, the recommended layout of knowledge and the example of an answer are left out.
    """
    names = PERSONA_INSTRUCTIONS if agent.kind == "persona" else BOT_INSTRUCTIONS
    parts = [prompts[name] for name in names]
    if examples:
        parts.append(prompts[f"layouts.{agent.kind}"])
    meta: dict[str, Any] = {"instructions": "\n\n".join(parts)}
    if legend := {"compact": LEGEND, "toon": prompts["notation.toon"]}.get(agent.input_format):
        meta["notation"] = legend
    meta["available_actions"] = {
        category.name: {"_description": category.description, "actions": list(category.actions)}
        for category in read_actions(prompts["actions"])
        if category.name != GATED_CATEGORY or agent.can_create
    }
    if tools:
        meta["available_actions"]["tools"] = {
            "_description": "What only this world has; the result is among your recent actions, in your next HUD",
            "actions": [{"type": name, "arguments": what} for name, what in tools.items()],
        }
    answer = agent.output_format
    meta["response_format"] = {
        "type": answer,
        "description": f"Answer in {answer.upper()}",
        "instructions": prompts[f"answer.{answer}"],
    }
    if examples:
        meta["response_format"]["example"] = prompts[f"answer.{answer}-example"]
    return meta


def memory_advice(prompts: Mapping[str, str], rules: WorldRules) -> str:
    """Return what an agent is told while its memory is nearly full."""
    return fill_placeholders(prompts.get("memory.full") or load_prompts()["memory.full"], rules).strip()


# -- identity and knowledge ----------------------------------------------------------------------------------------


class KnowledgeWriter:
    """Writes identity and memory of one agent, whole or cut."""

    def __init__(self, facts: BeatFacts) -> None:
        self._facts = facts

    def whole(self, *, background: str | None = None, tight: bool = False) -> IdentityAndKnowledge:
        """Return identity and all knowledge; `tight`, on one line."""
        if background is None:
            background = self._facts.agent.background
        return self._assembled(background, *self._knowledge(tight))

    def cut(self, limit: int) -> tuple[IdentityAndKnowledge, list[HudOmission]]:
        """Return identity and knowledge within `limit` tokens, or as few as they can be, and what is left out
        then."""
        omitted: list[HudOmission] = []
        background = self._facts.agent.background

        def with_background(characters: int) -> IdentityAndKnowledge:
            return self.whole(background=shorten(background, characters), tight=True)

        length = largest_fitting(
            _MIN_BACKGROUND_CHARACTERS, len(background), lambda number: with_background(number).tokens <= limit
        )
        draft = with_background(length)
        if length < len(background):
            cut_away = len(background) - length
            omitted.append(HudOmission("identity", "characters of the background", cut_away, CAP_EXCEEDED))
            background = shorten(background, length)
        if draft.tokens <= limit:
            return draft, omitted
        tree, used, *_ = self._knowledge(tight=True)
        # The heaviest leaves stay; of equal ones the first. What stays is shown in its own order again.
        leaves = sorted(enumerate(_weighted_leaves(tree)), key=lambda numbered: (-numbered[1][2], numbered[0]))

        def with_leaves(number: int) -> IdentityAndKnowledge:
            in_order = sorted(leaves[:number], key=lambda numbered: numbered[0])
            heaviest = _tree({path: value for _, (path, value, _) in in_order})
            piece = self._facts.notation.knowledge(heaviest, tight=True)
            return self._assembled(background, heaviest, used, piece, self._facts.renderer.count(piece))

        number = largest_fitting(0, len(leaves), lambda number: with_leaves(number).tokens <= limit)
        omitted.append(HudOmission("knowledge", "entries", len(leaves) - number, CAP_EXCEEDED))
        return with_leaves(number), omitted

    def _assembled(
        self, background: str, tree: dict[str, Any], used: int, knowledge_piece: str, knowledge_tokens: int
    ) -> IdentityAndKnowledge:
        facts = self._facts
        agent, notation, count = facts.agent, facts.notation, facts.renderer.count
        plain: dict[str, Any] = {"identity": _identity_fields(agent, background)}
        key = ("identity", notation.name, agent.kind, agent.id, agent.name, agent.model, background)
        identity = facts.renderer.cached(key, lambda: notation.identity(plain["identity"]))
        plain["knowledge"] = tree
        if notation.anchored:  # what changes all the time is told behind the rooms
            tokens = count(identity) + knowledge_tokens
            return IdentityAndKnowledge(identity, [knowledge_piece], plain, tokens)
        plain["memory_used"] = f"{used}%"
        more = [self._member("memory_used", plain["memory_used"])]
        if used >= FULL_MEMORY_PERCENT:
            plain["advice"] = memory_advice(facts.world.prompts, facts.world.rules)
            more.append(self._member("advice", plain["advice"]))
        if facts.whispers:
            plain["once"] = list(facts.whispers)
            more.append(notation.member("once", plain["once"]))  # not cached: it comes once
        tokens = count(identity) + knowledge_tokens + sum(map(count, more))
        return IdentityAndKnowledge(identity, [knowledge_piece, *more], plain, tokens)

    def _knowledge(self, tight: bool) -> tuple[dict[str, Any], int, str, int]:
        """Return knowledge as it is shown, percent of its limit (rounded down), as it is written, and the tokens of
        that."""
        agent, notation, renderer = self._facts.agent, self._facts.notation, self._facts.renderer
        limit = self._facts.world.rules.tokens.knowledge

        def make() -> tuple[dict[str, Any], int, str, int]:
            shown = hud_fields.knowledge_fields(agent.knowledge, agent.weights)
            piece = notation.knowledge(shown, tight=tight)
            tokens = renderer.sum(knowledge_json(agent.knowledge)) if agent.knowledge else 0
            return shown, min(100, tokens * 100 // limit), piece, renderer.sum(piece)

        key = ("knowledge", notation.name, agent.id, tight, limit, self._facts.upto is None)
        return renderer.while_same(key, agent.knowledge, make)

    def _member(self, name: str, value: str) -> str:
        notation = self._facts.notation
        return self._facts.renderer.cached(("self", notation.name, name, value), lambda: notation.member(name, value))


def _weighted_leaves(
    tree: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any, float]]:
    """Yield path, value and weight of everything in a tree of knowledge that is no branch."""
    for name, value in tree.items():
        here = (*path, name)
        if not isinstance(value, dict) or not value:
            yield here, value, _UNWEIGHTED
        elif value.keys() == {"v", "w"}:
            yield here, value, float(value["w"]) if isinstance(value["w"], int | float) else _UNWEIGHTED
        else:
            yield from _weighted_leaves(value, here)


def _tree(leaves: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in leaves.items():
        branch = tree
        for name in path[:-1]:
            branch = branch.setdefault(name, {})
        branch[path[-1]] = value
    return tree


# -- recent actions ------------------------------------------------------------------------------------------------


def newest_within(actions: list[RenderedAction], limit: int) -> list[RenderedAction]:
    """Return as many of the newest actions as cost no more than `limit` tokens."""
    for number, action in enumerate(reversed(actions)):
        limit -= action.tokens
        if limit < 0:
            return actions[len(actions) - number :]
    return actions


def _action_pieces(
    facts: BeatFacts, actions: list[RenderedAction], action_tokens: int, now_piece: str
) -> tuple[list[str], int]:
    """Return the pieces of recent actions, with what is around them and `now` behind them, and what they cost.

    `action_tokens` are those of the actions, each as if another one followed.
    """
    notation, renderer = facts.notation, facts.renderer
    opening = notation.actions(len(actions))
    tokens = renderer.count(opening) + renderer.count(now_piece)
    if not actions:
        return [opening, now_piece], tokens
    *before, newest = actions
    last, cost = renderer.with_end(newest.piece, newest.tokens, notation, notation.end_actions)
    pieces = [opening, *[action.piece for action in before], last, now_piece]
    return pieces, tokens + action_tokens - newest.tokens + cost


def _identity_fields(agent: AgentState, background: str) -> dict[str, Any]:
    """Return who an agent is, with its background as it fits."""
    kind = "seed" if agent.kind == "persona" else "role"
    return {"id": agent.id, "name": agent.name, "model": agent.model, kind: background}
