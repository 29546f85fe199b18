"""Scripted sessions: turns of user, agent and tools, with planted facts that begin and end. Pure, by seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

from bench.retention.scenes import ENDINGS, FILLER, KINDS, SCENES, Rhythm, Scene

TURNS = 240
DIRECTORY = "/home/u/project"
OUTPUT_WORDS = (400, 1250)
"""Words of a tool's output, least and most: with the rest about 840 tokens a turn, 200,000 a session."""

USER_EVERY = 5
"""A user speaks every so many turns at the least."""


USERS = ("task", "constraint")
"""What only the user says; of decisions and blockers it is a quarter."""


class Fact(msgspec.Struct, frozen=True):
    """A planted fact: `word` is in all texts that tell of it and in no other; `topic` is what is known without it."""

    word: str
    kind: str
    text: str
    topic: str


class Change(msgspec.Struct, frozen=True):
    """A fact begins (`live`) or is over from here on; `instead` of which others it begins."""

    fact: Fact
    live: bool
    instead: tuple[Fact, ...] = ()


class Tool(msgspec.Struct, frozen=True):
    """A call with its result; `exit` is a shell's status, `None` for other tools."""

    name: str
    input: dict[str, Any]
    output: str
    exit: int | None = None


class Turn(msgspec.Struct, frozen=True):
    """One model call: what the user says before it (may be empty), what the agent answers and does. `heard` are the
    changes that the user tells, `told` those that the answer or the tool tells."""

    user: str
    agent: str
    tool: Tool
    heard: tuple[Change, ...]
    told: tuple[Change, ...]


class Script(msgspec.Struct, frozen=True):
    """A session of one scene and seed."""

    scene: str
    seed: int
    turns: tuple[Turn, ...]

    @property
    def facts(self) -> dict[str, Fact]:
        """All planted facts by their words."""
        changes = (one for turn in self.turns for one in (*turn.heard, *turn.told))
        return {one.fact.word: one.fact for one in changes}


def scripts(seeds: tuple[int, ...] = (1, 2, 3), turns: int = TURNS) -> Iterator[Script]:
    """Every scene with every seed."""
    return (script(scene, seed, turns) for scene in SCENES for seed in seeds)


def script(scene: Scene, seed: int, turns: int = TURNS) -> Script:
    """One session."""
    writing = _Writing(scene, random.Random(f"{scene.name} {seed}"))
    return Script(scene.name, seed, tuple(writing.turn(number) for number in range(turns)))


class _Writing:
    """A session while it is written."""

    def __init__(self, scene: Scene, draw: random.Random) -> None:
        self.scene = scene
        self.draw = draw
        self.live: dict[str, list[Fact]] = {kind: [] for kind in KINDS}
        self.used: set[str] = set(FILLER)

    def turn(self, number: int) -> Turn:
        said: list[str] = []
        answer = [self.talk(12)]
        heard: list[Change] = []
        told: list[Change] = []
        tool: Tool | None = None
        for kind in KINDS:
            changes = self.changes(kind, number)
            if not changes:
                continue
            if kind in ("error", "file") and changes[-1].live | (kind == "error"):
                if tool is not None:
                    self.undo(changes)
                    continue
                tool = self.run(changes[-1]) if kind == "error" else self.edit(changes[-1].fact)
                told += changes
                answer += [self.ending(one.fact) for one in changes if not one.live and kind == "file"]
                continue
            by_user = kind in USERS or (kind in ("decision", "blocker") and self.draw.random() < 0.25)
            for one in changes:
                line = f"{one.fact.text}." if one.live else self.ending(one.fact)
                (said if by_user else answer).append(line)
                (heard if by_user else told).append(one)
        if said or number % USER_EVERY == 0:
            said.insert(0, self.talk(15))
        return Turn("\n".join(said), "\n".join(answer), tool or self.read(), tuple(heard), tuple(told))

    def changes(self, kind: str, number: int) -> tuple[Change, ...]:
        """What changes of a kind in this turn: nothing, a beginning, an end, or one in place of another."""
        rhythm: Rhythm = self.scene.rhythms[kind]
        live = self.live[kind]
        settling = number < 12 and len(live) < rhythm.least and self.draw.random() < 0.5
        if not (kind == "task" and number == 0) and not settling and self.draw.random() >= rhythm.chance:
            return ()
        over: tuple[Fact, ...] = ()
        if len(live) >= rhythm.most or (len(live) > rhythm.least and self.draw.random() < 0.5):
            over = (live.pop(self.draw.randrange(len(live))),)
        ended = tuple(Change(one, False) for one in over)
        if over and (kind == "error" or (kind not in ("task", "decision") and self.draw.random() < 0.7)):
            return ended
        new = self.fact(kind)
        live.append(new)
        return (*ended, Change(new, True, over if kind in ("task", "decision") else ()))

    def undo(self, changes: tuple[Change, ...]) -> None:
        """There is no room for a second tool in a turn: as if nothing had changed."""
        for one in changes:
            if one.live:
                self.live[one.fact.kind].remove(one.fact)
            else:
                self.live[one.fact.kind].append(one.fact)

    def fact(self, kind: str) -> Fact:
        word = self.word()
        text, _, topic = self.draw.choice(self.scene.texts[kind]).partition("|")
        return Fact(word, kind, text.format(x=word), topic or text.replace("{x}", " "))

    def word(self) -> str:
        while True:
            made = "".join(self.draw.choice("bdfgklmnprstvz") + self.draw.choice("aeiou") for _ in range(3)) + "x"
            if made not in self.used:
                self.used.add(made)
                return made

    def ending(self, fact: Fact) -> str:
        return self.draw.choice(ENDINGS[fact.kind]).format(x=fact.word)

    # -- tools -------------------------------------------------------------------------------------------------

    def run(self, change: Change) -> Tool:
        """A test run in which the fact's test fails, or passes again."""
        path = change.fact.text
        command = {"command": f"python -m pytest -q {path}"}
        log = self.lines(120)
        if not change.live:
            return Tool("bash", command, f"{log}\n{path} passed\n1 passed in 0.31s", 0)
        return Tool("bash", command, f"{log}\nFAILED {path}::test_all - AssertionError\n1 failed in 0.52s", 1)

    def edit(self, fact: Fact) -> Tool:
        old, new = self.talk(40), self.talk(60)
        given = {"filePath": f"{DIRECTORY}/{fact.text}", "oldString": old, "newString": new}
        return Tool("edit", given, "Edit applied.")

    def read(self) -> Tool:
        path = f"{DIRECTORY}/lib/{self.draw.choice(FILLER)}_{self.draw.choice(FILLER)}.txt"
        return Tool("read", {"filePath": path}, self.lines(self.draw.randint(*OUTPUT_WORDS)))

    def talk(self, words: int) -> str:
        return " ".join(self.draw.choice(FILLER) for _ in range(words)).capitalize() + "."

    def lines(self, words: int) -> str:
        drawn = [self.draw.choice(FILLER) for _ in range(words)]
        return "\n".join(" ".join(drawn[n : n + 9]) for n in range(0, words, 9))
