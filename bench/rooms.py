"""What playing a world costs without model time: beats a second against a bare loop, lateness, memory, and age."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import tempfile
from collections.abc import Iterator
from hashlib import blake2b
from itertools import cycle
from operator import truediv
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, TypeAlias, TypeVar

import msgspec

from bench.figures import Figure
from hudkit.events import Origin
from hudkit.rooms import events as e
from hudkit.rooms.beats import JumpingClock, RealClock, Runner
from hudkit.rooms.beats.clocks import Clock
from hudkit.rooms.beats.runner import GROUP
from hudkit.rooms.book import Book
from hudkit.rooms.hud import Seen, Typesetter
from hudkit.rooms.minds import Asked, Minds, Scripted, Thought
from hudkit.rooms.prompts import load_prompts
from hudkit.rooms.rules import Rules, Tempo
from hudkit.rooms.world import World
from hudkit.store.appending import COLUMNS
from hudkit.store.connect import connect_writer
from hudkit.store.rows import Row
from hudkit.store.schema import MIGRATIONS

V = TypeVar("V")
Stored: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
"""A row of the log, and its payload as data."""

TITLE = "rooms: beats a second and core, without model time"

SIZES = (5_000, 1_000, 100)
FRIENDS = 5
"""Agents that share a room; each has one of its own besides."""
SAID = 30
"""Messages in a shared room at the beginning."""
PAST = 120_000
"""Milliseconds since those were said: what was said within a minute would leave nobody a word."""
FULL = 150
"""Messages there that fill a HUD."""
ROUNDS, BEATS = 9, 320
LEAST = 0.6
"""The share of the bare loop's beats a second that a runner should reach."""
SKIPPED = 20_000
"""Beats that are skipped while that is measured, roughly."""
SETTLING, LATE_FOR = 25.0, 20.0
"""Seconds after which lateness is watched, and for which, in real time."""

_BODY = Row._fields.index("body")
_INSERT = f"INSERT INTO events (position, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TEXT = (
    "the tide comes early tonight so bring in the nets before eight and ask whether anyone saw the small "
    "boat that left with the lamp oil because the keeper wrote that two letters and a chart are missing"
)
_WORDS = _TEXT.split()


class Lively:
    """A mind that says a few words in the shared room, so that the others have something new, and notes something
    down every second time. What it says was made before: a beat is measured without model time."""

    def __init__(self) -> None:
        self.seen: list[Seen] | None = None
        self._chance = random.Random(5)
        self._said = cycle([self.words(6) for _ in range(997)])
        self._noted = cycle([self.words(8) for _ in range(997)])

    def think_now(self, asked: Asked) -> Thought:
        if self.seen is not None:
            self.seen.append(asked.seen)
        note = ""
        if asked.number % 2:
            note = f'{{"type":"set","path":"notes.n{asked.number % 8}","value":"{next(self._noted)}"}}'
        said = f'{{"room_id":{shared(asked.agent)},"message":"{next(self._said)}"}}'
        return Thought(f'{{"actions":[{note}],"responses":[{said}]}}')

    def words(self, count: int) -> str:
        start = self._chance.randrange(len(_WORDS))
        return " ".join(_WORDS[(start + n) % len(_WORDS)] for n in range(count))


def shared(agent: int) -> int:
    """The room that an agent shares with its neighbours by number."""
    return agent - (agent - 1) % FRIENDS


class Busy(JumpingClock):
    """A clock of a world with so many agents that there is always a group of them due."""

    def __init__(self, agents: int) -> None:
        super().__init__()
        self._step = 1.5 * GROUP * 7.5 / agents

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        await super().wait(max(seconds, self._step), sign, busy=busy)


class Ending(JumpingClock):
    """A clock that stops a runner when its time is over."""

    def stop_at(self, passed: float, runner: Runner) -> None:
        self._end, self._runner = passed, runner

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        await super().wait(seconds, sign, busy=busy)
        if self.passed() >= self._end:
            self._runner.stop()

    _end = float("inf")
    _runner: Runner


class Stage:
    """A world of so many agents in a file, and one who plays it."""

    def __init__(self, path: Path, agents: int, clock: Clock, said: int = SAID, quiet: float = 0.0) -> None:
        self.lively = Lively()
        self.path = path
        self.commits = 0
        self.book = Book.create(
            path,
            name="bench",
            seed=1,
            rules=Rules(tempo=Tempo(quiet=quiet)),
            prompts=load_prompts(),
            clock=lambda: clock.wall() - PAST,
        )
        chance = random.Random(agents)
        now = clock.wall()
        for begin in range(1, agents + 1, 500):
            with self.book.commit(Origin.SYSTEM) as commit:
                for id in range(begin, min(begin + 500, agents + 1)):
                    every = chance.uniform(5, 10)
                    first = now + round(1000 * every * chance.random())
                    role = f"Neighbour number {id}, who {self.lively.words(25)}."
                    commit.tell(
                        e.AgentMade(id, "persona", f"Agent{id}", role, "lively", interval=every, first_due=first)
                    )
                    commit.tell(e.Joined(id, id))
                    if id != shared(id):
                        commit.tell(e.Joined(shared(id), id))
        for _ in range(said):
            with self.book.commit(Origin.SYSTEM) as commit:
                for room in range(1, agents + 1, FRIENDS):
                    sender = chance.randrange(room, min(room + FRIENDS, agents + 1))
                    words = self.lively.words(chance.randrange(8, 30))
                    number = self.book.world.next_message
                    commit.tell(e.Said(number, room, sender, words, words=len(words.split())))
        self.book.clock = clock.wall
        self._count_commits()
        minds = Minds({"lively": self.lively})
        self.runner = Runner(self.book, minds, clock=clock, typeset=Typesetter())

    def play(self, beats: int) -> None:
        asyncio.run(self.runner.run(beats=beats))

    def _count_commits(self) -> None:
        log: Any = self.book.log
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


class Bare:
    """The loop to compare with: for each beat, read the agent's row, those of its rooms and the messages it sees,
    encode its HUD, and digest it; for each group, encode the same events, insert their rows and commit, with the
    store's own settings and as many commits as the runner made. It decides nothing: who is due, what fits, what is
    allowed, and what an event means. `quick` encodes with msgspec, in C throughout; else with the standard library's
    `json`.

    What is given to it ready-made, and costs a runner something: HUDs as data, events as data, and the ids, digests
    and links of rows (a log that proves nothing has none). Words said within the last minute are in the messages that
    it reads anyway.
    """

    def __init__(self, path: Path, stage: Stage, *, quick: bool) -> None:
        self._read = msgspec.json.decode if quick else json.loads
        self._write = _msgspec if quick else _json
        self._write_event = msgspec.json.encode if quick else _json_event
        path.touch()
        self.db = connect_writer(path, 5.0)
        for statement in MIGRATIONS[0]:
            self.db.execute(statement)
        for table in ("agents", "rooms"):
            self.db.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, body BLOB)")
        self.db.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, room INTEGER, body BLOB)")
        self.db.execute("CREATE INDEX by_room ON messages (room, id)")
        self.position = self._known = 0
        self.learn(stage.book.world)

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
                rows.append((self.position, *row[:_BODY], self._write_event(payload), *row[_BODY + 1 :]))
            self.db.execute("BEGIN IMMEDIATE")
            self.db.executemany(_INSERT, rows)
            self.db.execute("COMMIT")

    def _beat(self, document: dict[str, Any]) -> None:
        me = document["self"]["identity"]["id"]
        (body,) = self.db.execute("SELECT body FROM agents WHERE id = ?", (me,)).fetchone()
        self._read(body)
        for room in document["rooms"]:
            (body,) = self.db.execute("SELECT body FROM rooms WHERE id = ?", (room["id"],)).fetchone()
            self._read(body)
            asked = (room["id"], len(room["messages"]))
            for (body,) in self.db.execute(
                "SELECT body FROM messages WHERE room = ? ORDER BY id DESC LIMIT ?", asked
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


class Speed(msgspec.Struct):
    agents: int
    beats: int
    ours: float
    """Seconds of processor time a beat; `bare` the same, `wall` with waiting for the disk."""
    bare: float
    wall: float
    bare_wall: float
    to_bare: float
    """How many times as much as the bare loop in the same round: the machine's speed changes from one to the next."""
    to_quick: float
    tokens: int
    events: float
    memory: float
    """Bytes an agent; only the first world of a process tells, for later ones use what earlier ones left."""


def speed(folder: Path, agents: int) -> Speed:
    """Medians over rounds that take turns."""
    Typesetter().count("The vocabulary of the tokenizer takes as much for one agent as for a million.")
    before = _resident()
    stage = Stage(folder / f"{agents}.db", agents, Busy(agents))
    stage.play(agents + BEATS)  # each agent's first: what is written and counted once
    memory = (_resident() - before) / agents
    loops = {name: Bare(folder / f"{agents}-{name}.db", stage, quick=name == "quick") for name in ("bare", "quick")}
    taken: dict[str, list[float]] = {
        name: [] for name in ("ours", "wall", "bare", "bare_wall", "quick", "quick_wall")
    }
    tokens = beats = events = 0
    for _ in range(ROUNDS):
        seen = stage.lively.seen = []
        seq, count, commits = stage.book.world.seq, stage.runner.figures().beats, stage.commits
        cpu, wall = process_time(), perf_counter()
        stage.play(BEATS)
        taken["ours"].append((process_time() - cpu) / BEATS)
        taken["wall"].append((perf_counter() - wall) / BEATS)
        assert stage.runner.figures().beats - count == len(seen) == BEATS
        stage.lively.seen = None
        documents = [one.document for one in seen]
        stored = [(row, msgspec.json.decode(row[_BODY])) for row in stage.last_rows(seq)]
        commits = stage.commits - commits
        tokens += sum(what.tokens for _, what in stage.book.happenings(seq) if isinstance(what, e.Beat))
        beats, events = beats + BEATS, events + len(stored)
        for name, loop in loops.items():
            loop.learn(stage.book.world)
            assert loop.encoded(documents[-1]).decode() == seen[-1].text
            assert all(loop.event(payload) == row[_BODY] for row, payload in stored)
            cpu, wall = process_time(), perf_counter()
            loop.play(documents, stored, commits)
            taken[name].append((process_time() - cpu) / BEATS)
            taken[f"{name}_wall"].append((perf_counter() - wall) / BEATS)
    at = {name: median(one) for name, one in taken.items()}
    stage.book.close()
    for loop in loops.values():
        loop.db.close()
    return Speed(
        agents,
        beats,
        at["ours"],
        at["bare"],
        at["wall"],
        at["bare_wall"],
        median(map(truediv, taken["ours"], taken["bare"])),
        median(map(truediv, taken["ours"], taken["quick"])),
        tokens // beats,
        events / beats,
        memory,
    )


def skipping(folder: Path, agents: int = 1_000) -> float:
    """Seconds of processor time that a beat costs which is skipped, because nothing is new."""
    clock = Ending()
    stage = Stage(folder / "skipping.db", agents, clock, said=2)
    silent = Runner(stage.book, Minds({"lively": Scripted({})}), clock=clock)
    asyncio.run(silent.run(beats=agents))

    clock.stop_at(clock.passed() + 7.5 * SKIPPED / agents, silent)
    before, cpu = silent.figures().skipped, process_time()
    asyncio.run(silent.run())
    each = (process_time() - cpu) / (silent.figures().skipped - before)
    stage.book.close()
    return each


def aging(folder: Path, agents: int = 100) -> tuple[float, float, int, int]:
    """Seconds of processor time a beat in a young world and in one with twenty times its past; their events."""
    stages = [
        Stage(folder / "young.db", agents, Busy(agents), said=FULL),
        Stage(folder / "old.db", agents, Busy(agents), said=20 * FULL),
    ]
    seqs = [stage.book.world.seq for stage in stages]
    taken: list[list[float]] = [[], []]
    for stage in stages:
        stage.play(2 * agents)
    for _ in range(ROUNDS):
        for stage, times in zip(stages, taken, strict=True):
            cpu = process_time()
            stage.play(BEATS)
            times.append((process_time() - cpu) / BEATS)
    for stage in stages:
        stage.book.close()
    return median(taken[0]), median(taken[1]), seqs[0], seqs[1]


def lateness(folder: Path, agents: int = 5_000, seconds: float = LATE_FOR) -> tuple[float, float, float, float]:
    """Beats a second on real time, and median, 99 of 100 and largest lateness in seconds; intervals are 5 to 10 s."""
    clock = RealClock()
    stage = Stage(folder / "late.db", agents, clock)

    async def watch() -> int:
        playing = asyncio.ensure_future(stage.runner.run())
        await asyncio.sleep(SETTLING)  # first beats cost more, and are all due within one interval
        seq = stage.book.world.seq
        await asyncio.sleep(seconds)
        stage.runner.stop()
        await playing
        return seq

    seq = asyncio.run(watch())
    beats = [what for _, what in stage.book.happenings(seq) if isinstance(what, e.Beat)]
    late = sorted(max(0, what.at - what.due) / 1000 for what in beats)
    stage.book.close()
    return len(beats) / seconds, median(late), late[len(late) * 99 // 100], late[-1]


def run() -> list[Figure]:
    """A runner's processor time a beat to that of the bare loop: 1 / 0.6 at most."""
    return list(_figures())


def _figures() -> Iterator[Figure]:
    # On the disk that the repository is on: a memory file system would sync for nothing.
    scratch = Path(".cache").absolute()
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as place:
        folder = Path(place)
        measured = [speed(folder, agents) for agents in SIZES]
        for one in reversed(measured):
            note = (
                f"{1 / one.ours:,.0f} beats/s a core, bare {1 / one.bare:,.0f}; with the disk "
                f"{1 / one.wall:,.0f} and {1 / one.bare_wall:,.0f}; "
                f"HUDs of {one.tokens:,} tokens, {one.events:.1f} events a beat"
            )
            yield Figure(f"a beat of {one.agents:,} agents / the bare loop", one.to_bare, 1 / LEAST, note)
            yield Figure("the same / the bare loop with msgspec", one.to_quick)
        largest = measured[0]
        note = f"{largest.agents:,} agents with {SAID} messages a room, and all that is kept to write HUDs quickly"
        yield Figure("memory of an agent in KiB", largest.memory / 1024, None, note)
        skip = skipping(folder)
        yield Figure("a skipped beat / a beat", skip / largest.ours, None, f"{1e6 * skip:.0f} µs; counted apart")
        young, old, few, many = aging(folder)
        yield Figure("a beat in an old world / in a young one", old / young, 1.25, f"{many:,} and {few:,} events")
        rate, middle, late, most = lateness(folder)
        note = f"{rate:,.0f} beats/s; seconds late: median {middle:.3f}, 99 of 100 {late:.3f}, at most {most:.3f}"
        yield Figure("lateness (99 of 100) of 5,000 agents / a second", late, None, note)


def _resident() -> int:
    """Bytes of memory that this process has."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096
    except OSError:  # no Linux: the most that it ever had
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
