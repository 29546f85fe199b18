"""What a request holds of the planted facts: of those that are live, and of those that are over and look live."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

import msgspec

from bench.figures import Skipped
from bench.retention.sessions import Change, Fact, Script
from bench.retention.spoken import Message, after, before, sizes
from bench.retention.summariser import sides

WINDOW = 32_768
TRIGGER = 26_000
"""Tokens of a request from which a system makes room: the same for all."""

KEEP = 20
"""Messages that stay at a compaction, where a system does not say otherwise: LangChain's default."""


def needed(name: str) -> Any:
    """A module of a library that may not be there. Raises `Skipped`."""
    try:
        return import_module(name)
    except ImportError as error:
        raise Skipped(f"{name.partition('.')[0]} is not installed, or not whole: {error}") from None


class Look(msgspec.Struct, frozen=True):
    """One request, looked at.

    Of the facts that are `live` (told before the request): which are not in it (`missing`), which of these one tool
    call brings back, and how many the system's state does not have (`unknown`). Of those that are `over`: which stand
    in the request without a word that says so (`wrong`), and how many its state has as live (`revived`).
    """

    turn: int
    live: int
    missing: tuple[Fact, ...]
    recovered: int
    unknown: int
    over: int
    wrong: tuple[Fact, ...]
    revived: int

    @property
    def recall(self) -> float:
        """The share of live facts that the request holds."""
        return 1 - len(self.missing) / max(self.live, 1)

    @property
    def reach(self) -> float:
        """The share of live facts that the request holds, or one tool call brings."""
        return 1 - (len(self.missing) - self.recovered) / max(self.live, 1)

    @property
    def state(self) -> float:
        """The share of live facts that the system's state has."""
        return 1 - self.unknown / max(self.live, 1)

    @property
    def stale(self) -> float:
        """The share of facts that are over and look as if they were not."""
        return len(self.wrong) / max(self.over, 1)

    @property
    def revival(self) -> float:
        """The share of facts that are over and live in the system's state."""
        return self.revived / max(self.over, 1)


class Truth:
    """What is live while a session goes on, as its transcript has told it."""

    def __init__(self) -> None:
        self.live: dict[str, Fact] = {}
        self.over: dict[str, Fact] = {}

    def hear(self, changes: Iterable[Change]) -> None:
        for one in changes:
            if one.live:
                self.live[one.fact.word] = one.fact
            else:
                self.over[one.fact.word] = self.live.pop(one.fact.word)


def look(turn: int, truth: Truth, texts: Sequence[str], system: System, fresh: Sequence[Change] = ()) -> Look:
    """A request's texts against the truth. What the user has said just now (`fresh`) no state can have yet."""
    stated, ended = sides("\n".join(texts))
    new = {one.fact.word for one in fresh}
    missing = tuple(fact for word, fact in truth.live.items() if word not in stated)
    return Look(
        turn=turn,
        live=len(truth.live),
        missing=missing,
        recovered=sum(map(system.recovers, missing)),
        unknown=sum(not system.has(fact) for word, fact in truth.live.items() if word not in new),
        over=len(truth.over),
        wrong=tuple(fact for word, fact in truth.over.items() if word in stated and word not in ended),
        revived=sum(system.has(fact) for word, fact in truth.over.items() if word not in new),
    )


class Kept(msgspec.Struct, frozen=True):
    """A session through a system: a look at the first request after each compaction, one at the last request, and
    the tokens of all requests."""

    looks: tuple[Look, ...]
    end: Look
    tokens: int
    turns: int

    def at(self, number: int) -> Look:
        """The look behind the n-th compaction (the last, where there were fewer, or for -1)."""
        if not self.looks:
            return self.end
        return self.looks[-1 if number < 0 else min(number, len(self.looks)) - 1]


class System:
    """What is driven: `ask` gives the texts of the next request; a subclass drives a library."""

    compactions = 0
    """How often messages have left the request so far."""

    def hear(self, message: Message) -> None:
        """A message joins the conversation."""
        raise NotImplementedError

    def ask(self) -> list[str]:
        """The texts of the request of the next model call, compacted where the system says so."""
        raise NotImplementedError

    def acted(self, changes: Sequence[Change]) -> None:
        """The agent has answered, and knows of these changes."""

    def recovers(self, fact: Fact) -> bool:  # noqa: ARG002 (a system without a store)
        """Whether one call of a tool of the system's own brings a fact back."""
        return False

    def has(self, fact: Fact) -> bool:  # noqa: ARG002 (a system without a state)
        """Whether a state that the system keeps beside the messages has a fact as live."""
        return False

    def close(self) -> None:
        """The session is over."""


def played(script: Script, system: System) -> Kept:
    """A session through a system."""
    truth = Truth()
    looks: list[Look] = []
    tokens = compactions = 0
    last: list[str] = []
    for number, turn in enumerate(script.turns):
        for message in before(number, turn):
            system.hear(message)
        truth.hear(turn.heard)
        last = system.ask()
        tokens += sizes(last)
        if system.compactions > compactions:
            compactions = system.compactions
            looks.append(look(number, truth, last, system, turn.heard))
        if number == len(script.turns) - 1:
            break
        for message in after(number, turn):
            system.hear(message)
        truth.hear(turn.told)
        system.acted((*turn.heard, *turn.told))
    end = look(len(script.turns) - 1, truth, last, system, script.turns[-1].heard)
    system.close()
    return Kept(tuple(looks), end, tokens, len(script.turns))
