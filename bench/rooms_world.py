"""A world to be played for a benchmark, and the bare loop to compare its runner with."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
from collections import Counter
from hashlib import blake2b
from itertools import cycle
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from hudkit.log import Origin
from hudkit.log.stores.hash_chain import EventRow
from hudkit.log.stores.log_tables import COLUMNS, LOG_MIGRATIONS
from hudkit.log.stores.sqlite_files import connect_writer
from hudkit.rooms import world_events as e
from hudkit.rooms.hud import AgentHud, CachedRenderer
from hudkit.rooms.players import BeatPrompt, BeatReply, PlayerRegistry
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.scheduler import SimulatedClock, WorldRunner
from hudkit.rooms.scheduler.clocks import Clock
from hudkit.rooms.scheduler.runner import MAX_BEATS_PER_COMMIT
from hudkit.rooms.world import IntervalRules, World, WorldRules
from hudkit.rooms.world_log import WorldLog

V = TypeVar("V")
Stored: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""A row of the log, and its payload as data."""

FRIENDS = 5
"""Agents that share a room; each has one of its own besides."""
SAID = 30
"""Messages in a shared room at the beginning."""
PAST = 120_000
"""Milliseconds since those were said: what was said within a minute would leave nobody a word."""

BODY = EventRow._fields.index("body")
_INSERT = f"INSERT INTO events (position, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TEXT = (
    "the tide comes early tonight so bring in the nets before eight and ask whether anyone saw the small "
    "boat that left with the lamp oil because the keeper wrote that two letters and a chart are missing"
)
_WORDS = _TEXT.split()


class LivelyPlayer:
    """A mind that says a few words in the shared room, so that the others have something new, and notes something
    down every second time. What it says was made before: a beat is measured without model time."""

    def __init__(self) -> None:
        self.seen: list[AgentHud] | None = None
        self._chance = random.Random(5)
        self._said = cycle([self.words(6) for _ in range(997)])
        self._noted = cycle([self.words(8) for _ in range(997)])

    def reply_now(self, prompt: BeatPrompt) -> BeatReply:
        if self.seen is not None:
            self.seen.append(prompt.hud)
        note = ""
        if prompt.number % 2:
            note = f'{{"type":"set","path":"notes.n{prompt.number % 8}","value":"{next(self._noted)}"}}'
        said = f'{{"room_id":{shared(prompt.agent)},"message":"{next(self._said)}"}}'
        return BeatReply(f'{{"actions":[{note}],"responses":[{said}]}}')

    def words(self, count: int) -> str:
        start = self._chance.randrange(len(_WORDS))
        return " ".join(_WORDS[(start + n) % len(_WORDS)] for n in range(count))


def shared(agent: int) -> int:
    """The room that an agent shares with its neighbours by number."""
    return agent - (agent - 1) % FRIENDS


class Busy(SimulatedClock):
    """A clock of a world with so many agents that there is always a group of them due."""

    def __init__(self, agents: int) -> None:
        super().__init__()
        self._step = 1.5 * MAX_BEATS_PER_COMMIT * 7.5 / agents

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        await super().wait(max(seconds, self._step), sign, busy=busy)


class EndingClock(SimulatedClock):
    """A clock that stops a runner when its time is over."""

    def stop_at(self, passed: float, runner: WorldRunner) -> None:
        self._end, self._runner = passed, runner

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        await super().wait(seconds, sign, busy=busy)
        if self.monotonic() >= self._end:
            self._runner.stop()

    _end = float("inf")
    _runner: WorldRunner


class BenchWorld:
    """A world of so many agents in a file, and one who plays it."""

    def __init__(
        self, path: Path | str | None, agents: int, clock: Clock, said: int = SAID, quiet: float = 0.0
    ) -> None:
        self.lively = LivelyPlayer()
        self.path = path
        self.commits = 0
        self.world_log = WorldLog.create(
            path,
            name="bench",
            seed=1,
            rules=WorldRules(tempo=IntervalRules(quiet=quiet)),
            prompts=load_prompts(),
            clock=lambda: clock.wall() - PAST,
        )
        chance = random.Random(agents)
        now = clock.wall()
        for begin in range(1, agents + 1, 500):
            with self.world_log.transaction(Origin.SYSTEM) as commit:
                for id in range(begin, min(begin + 500, agents + 1)):
                    every = chance.uniform(5, 10)
                    first = now + round(1000 * every * chance.random())
                    role = f"Neighbour number {id}, who {self.lively.words(25)}."
                    commit.append(
                        e.AgentCreated(id, "persona", f"Agent{id}", role, "lively", interval=every, first_due=first)
                    )
                    commit.append(e.RoomJoined(id, id))
                    if id != shared(id):
                        commit.append(e.RoomJoined(shared(id), id))
        for _ in range(said):
            with self.world_log.transaction(Origin.SYSTEM) as commit:
                for room in range(1, agents + 1, FRIENDS):
                    sender = chance.randrange(room, min(room + FRIENDS, agents + 1))
                    words = self.lively.words(chance.randrange(8, 30))
                    number = self.world_log.world.next_message
                    commit.append(e.MessagePosted(number, room, sender, words, words=len(words.split())))
        self.world_log.clock = clock.wall
        self._count_commits()
        self.renderer = CachedRenderer()
        self.runner = self.run_by(clock)

    def run_by(self, clock: Clock) -> WorldRunner:
        """A runner by this clock in the place of the one before, with all that was written."""
        self.world_log.watchers.clear()
        players = PlayerRegistry({"lively": self.lively})
        self.runner = WorldRunner(self.world_log, players, clock=clock, renderer=self.renderer)
        return self.runner

    def play(self, beats: int) -> None:
        asyncio.run(self.runner.run(beats=beats))

    def _count_commits(self) -> None:
        log: Any = self.world_log.log
        append = log.append

        def counted(*args: Any, **named: Any) -> Any:
            self.commits += 1
            return append(*args, **named)

        log.append = counted

    def last_rows(self, after: int) -> list[tuple[Any, ...]]:
        """The rows of the log behind an event, as they are in the file."""
        db = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
        try:
            return db.execute(f"SELECT {COLUMNS} FROM events WHERE seq > ? ORDER BY seq", (after,)).fetchall()
        finally:
            db.close()


class BareLoop:
    """The loop to compare with: for each beat, read the agent's row, those of its rooms and the messages it sees,
    encode its HUD, and digest it; for each group, encode the same events, insert their rows and commit, with the
    store's own settings and as many commits as the runner made. It decides nothing: who is due, what fits, what is
    allowed, and what an event means. `quick` encodes with msgspec, in C throughout; else with the standard library's
    `json`.

    What is given to it ready-made, and costs a runner something: HUDs as data, events as data, and the ids, digests
    and links of rows (a log that proves nothing has none). Words said within the last minute are in the messages that
    it reads anyway.
    """

    def __init__(self, path: Path, bench_world: BenchWorld, *, quick: bool) -> None:
        self._read = msgspec.json.decode if quick else json.loads
        self._write = _msgspec if quick else _json
        self._write_event = msgspec.json.encode if quick else _json_event
        path.touch()
        self.db = connect_writer(path, 5.0)
        for statement in LOG_MIGRATIONS[0]:
            self.db.execute(statement)
        for table in ("agents", "rooms"):
            self.db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, body BLOB)")
        self.db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, room INTEGER, body BLOB)")
        self.db.execute("CREATE INDEX by_room ON messages (room, id)")
        self.position = self._known = 0
        self.learn(bench_world.world_log.world)

    def learn(self, world: World) -> None:
        """Take up agents, rooms and messages as they are now."""
        agents = ((id, msgspec.json.encode(agent)) for id, agent in world.agents.items())
        rooms = (
            (id, msgspec.json.encode(msgspec.structs.replace(room, messages=[]))) for id, room in world.rooms.items()
        )
        new = [one for id, one in world.messages.items() if id > self._known]
        said = ((one.id, one.room, msgspec.json.encode(one)) for one in new)
        self.db.execute("BEGIN")
        self.db.executemany("INSERT OR REPLACE INTO agents VALUES (?, ?)", agents)
        self.db.executemany("INSERT OR REPLACE INTO rooms VALUES (?, ?)", rooms)
        self.db.executemany("INSERT INTO messages VALUES (?, ?, ?)", said)
        self.db.execute("COMMIT")
        self._known = world.next_message - 1

    def play(self, documents: list[dict[str, Any]], events: list[Stored], commits: int) -> None:
        """Play beats with these HUDs and the events of all of them, in so many commits."""
        for n in range(commits):
            for document in _slice(documents, n, commits):
                self._beat(document)
            rows = []
            for row, payload in _slice(events, n, commits):
                self.position += 1
                rows.append((self.position, *row[:BODY], self._write_event(payload), *row[BODY + 1 :]))
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(_INSERT, rows)
            self.db.execute("COMMIT")

    def _beat(self, document: dict[str, Any]) -> None:
        me = document["self"]["identity"]["id"]
        (body,) = self.db.execute("SELECT body FROM agents WHERE id = ?", (me,)).fetchone()
        self._read(body)
        news = Counter(message["room_id"] for message in document.get("news", ()))
        for room in document["rooms"]:
            (body,) = self.db.execute("SELECT body FROM rooms WHERE id = ?", (room["id"],)).fetchone()
            self._read(body)
            newest = (room["id"], len(room["messages"]) + news[room["id"]])
            for (body,) in self.db.execute(
                "SELECT body FROM messages WHERE room = ? ORDER BY id DESC LIMIT ?", newest
            ):
                self._read(body)
        blake2b(self.encoded(document), digest_size=16).hexdigest()

    def encoded(self, document: dict[str, Any]) -> bytes:
        """The bytes of a HUD."""
        return self._write(document)

    def event(self, payload: dict[str, Any]) -> bytes:
        """The bytes of an event."""
        return self._write_event(payload)


def _slice(all_: list[V], n: int, parts: int) -> list[V]:
    return all_[len(all_) * n // parts : len(all_) * (n + 1) // parts]


def _msgspec(document: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _json_event(payload: dict[str, Any]) -> bytes:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
