"""The numbers of a world: tempo, word budgets, token budgets, caps. Defaults are 003's, where 003 has one."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Share = Annotated[float, Meta(ge=0, le=1)]
Amount = Annotated[float, Meta(ge=0, le=1e9)]  # no infinity: JSON has none
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Least = Annotated[int, Meta(ge=1, le=10**9)]


def _in_order(table: str, **bounds: float) -> None:
    """Raise `ValueError` where a lower bound is above the upper one."""
    (low, least), (high, most) = bounds.items()
    if least > most:
        raise ValueError(f"{table}: {low} is {least:g}, and {high} is {most:g}")


class Tempo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds between beats: the bounds, the step of a thumb, and how much every beat drifts to the slowest."""

    least: Positive = 1.0
    most: Positive = 10.0
    step: Amount = 0.5
    decay: Amount = 0.1
    first: Positive = 5.0
    jitter: Share = 0.1
    """The largest part of an interval by which a beat is early or late, so that agents do not beat in step."""
    quiet: Amount = 300.0
    """Seconds after which an agent beats although its HUD has nothing new; 0: never."""
    looping: Amount = 60.0
    """Seconds for which two agents that repeat themselves to each other are held up; 0: not at all."""

    def __post_init__(self) -> None:
        _in_order("tempo", least=self.least, most=self.most)


class Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be said: elapsed seconds x words a minute / 60, within bounds; the first message has its own."""

    wpm: Annotated[int, Meta(ge=1)] = 80
    least_wpm: Annotated[int, Meta(ge=1)] = 10
    most_wpm: Annotated[int, Meta(ge=1)] = 200
    least: Annotated[int, Meta(ge=0)] = 10
    most: Annotated[int, Meta(ge=1)] = 200
    first: Annotated[int, Meta(ge=1)] = 200
    room_wpm: Annotated[int, Meta(ge=1)] = 400
    """Words a minute that all agents together may say in one room: a storm of replies stays within it."""

    def __post_init__(self) -> None:
        _in_order("words", least=self.least, most=self.most)
        _in_order("words", least_wpm=self.least_wpm, most_wpm=self.most_wpm)


class Tokens(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The budget of a HUD in tokens (003)."""

    total: Annotated[int, Meta(ge=500)] = 10_000
    static: Annotated[int, Meta(ge=250)] = 5_000
    messages: Annotated[int, Meta(ge=250)] = 5_000
    knowledge: Annotated[int, Meta(ge=100)] = 3_000
    metadata: Annotated[int, Meta(ge=100)] = 200
    """What a room may say of itself (members, billboard, requests), or half of its share where that is more."""
    actions: Annotated[int, Meta(ge=0)] = 20
    """Recent actions that an agent sees."""

    def __post_init__(self) -> None:
        _in_order("tokens", messages=self.messages, total=self.total)


class Caps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What nobody may exceed."""

    name: Least = 50
    message: Least = 4_000
    """Characters of a message, a billboard or a background."""
    depth: Count = 1
    """How far from the Architect an agent may be that makes agents: 1, those whom the Architect let."""
    agents_of: Count = 8
    """Living agents that one agent may have made."""
    keys: Count = 20
    guesses: Least = 5
    """Wrong keys a minute: of one agent, before it may try no more for a minute; and for one room, before one wrong
    key is enough for that."""
    wakes: Count = 6
    """Agents that one agent may wake in a minute."""
    beats_without_people: Count = 0
    """Beats after which a world in which the Architect says nothing pauses by itself; 0: never."""
    cost: Amount = 0.0
    """Dollars after which a world pauses by itself; 0: never."""
    idle_seconds: Amount = 0.0
    """Seconds without anything new after which it does; 0: never."""


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a world may set for itself."""

    tempo: Tempo = Tempo()
    words: Words = Words()
    tokens: Tokens = Tokens()
    caps: Caps = Caps()
