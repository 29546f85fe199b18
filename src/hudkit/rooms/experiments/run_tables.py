"""The rows of one run, from its world's log: beats, messages, who talked with whom, attention, opinions.

The log is folded once more beside, because who could hear a message and how attention was shared is in the state at
that time, not in the events.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.allowances import attention_shares
from hudkit.rooms.experiments.experiment_file import Opinion
from hudkit.rooms.fold_log import fold_logged_event
from hudkit.rooms.world import World
from hudkit.rooms.world_log import WorldLog

_MINUTE = 60_000


class BeatRow(msgspec.Struct):
    """One beat. `beat` counts those of the world, `number` those of the agent; `minute` is since the world began."""

    beat: int
    minute: float
    agent: int
    name: str
    number: int
    model: str
    hud_tokens: int
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    messages: int = 0
    words: int = 0
    delayed: int = 0
    """Messages that wait for the room's pace; they are posted later, and are not among `messages`."""
    reactions: int = 0
    actions: int = 0
    refused: int = 0
    error: str = ""


class MessageRow(msgspec.Struct, frozen=True):
    """One message of an agent's or the Architect's (0)."""

    message: int
    minute: float
    room: int
    sender: int
    sender_name: str
    reply_to: int
    words: int
    text: str


class NetworkRow(msgspec.Struct):
    """What went from one agent to another: messages that it could hear, answers and reactions to its messages."""

    speaker: int
    speaker_name: str
    listener: int
    listener_name: str
    heard: int = 0
    answers: int = 0
    reactions: int = 0


class AttentionRow(msgspec.Struct, frozen=True):
    """The share of attention (percent) that a room has of an agent from this minute on."""

    minute: float
    agent: int
    name: str
    room: int
    percent: float


class OpinionRow(msgspec.Struct, frozen=True):
    """An agent has another opinion from this minute on; it was `said` in a message, or `wrote` into its memory."""

    minute: float
    agent: int
    name: str
    opinion: str
    choice: str
    source: str


class RunTables(msgspec.Struct):
    """All rows of one run. `figures` are numbers of the whole run, by name."""

    variant: str
    seed: int
    figures: dict[str, int | float]
    beats: list[BeatRow] = []
    messages: list[MessageRow] = []
    network: list[NetworkRow] = []
    attention: list[AttentionRow] = []
    opinions: list[OpinionRow] = []
    interventions: list[tuple[float, str]] = []

    @property
    def cost(self) -> float:
        """Return the dollars of the run."""
        return self.figures["cost"]


def opinion_figure(opinion: str, choice: str) -> str:
    """Return the name of the figure that counts the agents who end with a choice."""
    return f"{opinion}: {choice}"


def tabulate_run(world_log: WorldLog, variant: str, seed: int, opinions: Sequence[Opinion]) -> RunTables:
    """Return the rows of a world's log, from its first event to its last."""
    tables = RunTables(variant, seed, {})
    tabulation = _Tabulation(tables, opinions)
    world = World()
    for entry, event in world_log.events():
        if not fold_logged_event(world, entry, event, holes=world_log.world.holes):
            world.seq = entry.seq
            continue
        tabulation.take(world, event)
    tabulation.finish(world)
    return tables


class _Tabulation:
    def __init__(self, tables: RunTables, opinions: Sequence[Opinion]) -> None:
        self._tables = tables
        self._opinions = [(opinion, _choice_finder(opinion.choices)) for opinion in opinions]
        self._last: dict[int, BeatRow] = {}
        """Each agent's last beat."""
        self._pairs: dict[tuple[int, int], NetworkRow] = {}
        self._shares: dict[int, dict[int, float]] = {}
        self._held: dict[tuple[str, int], str] = {}
        """What each agent thinks, by opinion and agent."""
        self._reactions: Counter[str] = Counter()

    def take(self, world: World, event: e.WorldEvent) -> None:
        """Take in one event, which `world` has folded in."""
        minute = _minute(world)
        match event:
            case e.BeatBegun():
                row = BeatRow(
                    world.beats,
                    minute,
                    event.agent,
                    world.agents[event.agent].name,
                    event.number,
                    event.model,
                    event.tokens,
                )
                self._last[event.agent] = row
                self._tables.beats.append(row)
            case e.ReplyReceived(agent=agent) if agent in self._last:
                row = self._last[agent]
                row.input_tokens, row.cached_tokens = event.input_tokens, event.cached_tokens
                row.output_tokens, row.cost = event.output_tokens, event.cost
                row.seconds, row.error = event.seconds, event.error
            case e.MessagePosted(kind="text"):
                self._take_message(world, minute, event)
            case e.MessageDelayed(sender=sender):
                self._count(sender, "delayed")
            case e.ReactionAdded():
                self._reactions[event.reaction] += 1
                self._count(event.agent, "reactions")
                author = world.messages[event.message].sender if event.message in world.messages else e.SYSTEM
                if author > 0 and event.agent > 0:
                    self._pair(world, event.agent, author).reactions += 1
            case e.ActionApplied(agent=agent):
                self._count(agent, "actions")
            case e.ActionRefused(agent=agent):
                self._count(agent, "refused")
            case e.AttentionSet(agent=agent) | e.RoomJoined(agent=agent) | e.RoomLeft(agent=agent):
                self._take_attention(world, minute, agent)
            case e.KnowledgeSet(agent=agent, path=path, value=value):
                for opinion, find in self._opinions:
                    if opinion.path and path == opinion.path:
                        self._take_opinion(world, minute, agent, opinion.name, find(str(value)), "wrote")
            case e.InterventionMade(text=text):
                self._tables.interventions.append((minute, text))

    def finish(self, world: World) -> None:
        """Work out what is known at the end only."""
        tables = self._tables
        tables.network = [self._pairs[pair] for pair in sorted(self._pairs)]
        tables.figures = self._figures(world)

    def _take_message(self, world: World, minute: float, event: e.MessagePosted) -> None:
        sender = world.agents.get(event.sender)
        name = sender.name if sender is not None else "The Architect"
        self._tables.messages.append(
            MessageRow(event.id, minute, event.room, event.sender, name, event.reply_to, event.words, event.content)
        )
        if sender is None:
            return
        if not event.pending:  # one that waited belongs to an earlier beat, which has it as delayed
            self._count(event.sender, "messages")
            self._count(event.sender, "words", event.words)
        for listener in world.rooms[event.room].members:
            if listener > 0 and listener != event.sender:
                self._pair(world, event.sender, listener).heard += 1
        answered = world.messages.get(event.reply_to)
        if answered is not None and answered.sender > 0 and answered.sender != event.sender:
            self._pair(world, event.sender, answered.sender).answers += 1
        for opinion, find in self._opinions:
            self._take_opinion(world, minute, event.sender, opinion.name, find(event.content), "said")

    def _take_opinion(self, world: World, minute: float, agent: int, opinion: str, choice: str, source: str) -> None:
        if choice and self._held.get((opinion, agent)) != choice:
            self._held[opinion, agent] = choice
            self._tables.opinions.append(OpinionRow(minute, agent, world.agents[agent].name, opinion, choice, source))

    def _take_attention(self, world: World, minute: float, id: int) -> None:
        agent = world.agents.get(id)
        if agent is None:  # the Architect attends to everything
            return
        shares = {room: round(share, 3) for room, share in attention_shares(agent.attention, agent.rooms).items()}
        before = self._shares.get(id, {})
        for room in sorted({*shares, *before}):
            if shares.get(room, 0.0) != before.get(room):
                self._tables.attention.append(AttentionRow(minute, id, agent.name, room, shares.get(room, 0.0)))
        self._shares[id] = shares

    def _count(self, agent: int, column: str, by: int = 1) -> None:
        if (row := self._last.get(agent)) is not None:
            setattr(row, column, getattr(row, column) + by)

    def _pair(self, world: World, speaker: int, listener: int) -> NetworkRow:
        pair = speaker, listener
        if pair not in self._pairs:
            self._pairs[pair] = NetworkRow(speaker, world.agents[speaker].name, listener, world.agents[listener].name)
        return self._pairs[pair]

    def _figures(self, world: World) -> dict[str, int | float]:
        beats, messages = self._tables.beats, [row for row in self._tables.messages if row.sender > 0]

        def total(column: str) -> int | float:
            values: list[int | float] = [getattr(row, column) for row in beats]
            return round(sum(values), 9)

        hud_tokens = total("hud_tokens")
        figures: dict[str, int | float] = {
            "beats": len(beats),
            "minutes": _minute(world),
            "failed beats": sum(bool(row.error) for row in beats),
            "beats without effect": sum(
                not (row.messages or row.delayed or row.reactions or row.actions) and not row.error for row in beats
            ),
            "messages": len(messages),
            "delayed": total("delayed"),
            "words": sum(row.words for row in messages),
            "answers": sum(bool(row.reply_to) for row in messages),
            "reactions": self._reactions.total(),
            **{kind: self._reactions[kind] for kind in ("thumbs_up", "thumbs_down", "brain", "heart")},
            "actions": total("actions"),
            "refused": total("refused"),
            "hud tokens": hud_tokens,
            "hud tokens per message": round(hud_tokens / len(messages), 3) if messages else 0.0,
            "input tokens": total("input_tokens"),
            "cached tokens": total("cached_tokens"),
            "output tokens": total("output_tokens"),
            "cost": total("cost"),
            "interventions": len(self._tables.interventions),
            "agents": sum(not agent.retired for agent in world.agents.values()),
        }
        for opinion, _ in self._opinions:
            for choice in opinion.choices:
                held = (name == opinion.name and value == choice for (name, _), value in self._held.items())
                figures[opinion_figure(opinion.name, choice)] = sum(held)
        return figures


def _minute(world: World) -> float:
    return round((world.now - world.created_at) / _MINUTE, 4)


def _choice_finder(choices: Sequence[str]) -> Callable[[str], str]:
    """Return what finds the one choice that a text names; empty where it names none, or several."""
    patterns = [(choice, re.compile(rf"(?<!\w){re.escape(choice)}(?!\w)", re.IGNORECASE)) for choice in choices]

    def find(text: str) -> str:
        named = [choice for choice, pattern in patterns if pattern.search(text)]
        return named[0] if len(named) == 1 else ""

    return find


def plain_rows(rows: Sequence[msgspec.Struct]) -> list[Mapping[str, Any]]:
    """Return rows as plain data, in the order of their columns."""
    return [msgspec.structs.asdict(row) for row in rows]
