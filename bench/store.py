"""What the promises of the SQLite log cost, against a bare durable `INSERT` of the same columns and bytes."""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.figures import Figure
from hudkit.log import Batch, EventDraft, EventLog, Origin
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import MemoryLog, SqliteLog
from hudkit.log.stores.log_tables import COLUMNS, LOG_MIGRATIONS

_ROUNDS, _PER_ROUND = 120, 16
_TEXT = (
    "The migration is one transaction; a copy of the file is made before it, and a crash leaves either state. " * 2
)
_INSERT = f"INSERT INTO events (position, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def _draft(number: int) -> EventDraft:
    id_ = f"0190b5c0-0000-7000-8000-{number:012d}"
    return EventDraft(id_, 1_700_000_000_000 + number, number // 8, Origin.AGENT, NoteAdd(f"{number} {_TEXT}"))


class _Bare:
    """The baseline: the same table, WAL, `synchronous=FULL`, one transaction per row; nothing else."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        for statement in LOG_MIGRATIONS[0]:
            self.db.execute(statement)
        log = MemoryLog()  # rows of the same bytes, made beforehand
        log.append("session", [_draft(number) for number in range(_ROUNDS * _PER_ROUND)])
        self.rows = log._rows["session"]

    def append_all(self, numbers: range) -> None:
        for number in numbers:
            self.db.execute(_INSERT, (number + 1, *self.rows[number]))


def _one_by_one(log: EventLog, numbers: range) -> None:
    for number in numbers:
        log.append("session", [_draft(number)])


def _seconds(call: Callable[[range], object], numbers: range = range(0)) -> float:
    start = time.perf_counter()
    call(numbers)
    return time.perf_counter() - start


TITLE = "appending durably (SQLite, WAL, synchronous=FULL)"


def run() -> list[Figure]:
    """Medians over interleaved rounds, as ratios to the bare insert of the same run."""
    scratch = Path(".cache")  # on the disk that the repository is on: a memory file system would sync for nothing
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        bare = _Bare(Path(folder, "bare.db"))
        one = SqliteLog.open(Path(folder, "one.db"))
        group = SqliteLog.open(Path(folder, "group.db"))
        memory = MemoryLog()
        ways: dict[str, Callable[[range], object]] = {
            "bare": bare.append_all,
            "append": lambda numbers: _one_by_one(one, numbers),
            "group": lambda numbers: group.append_many([Batch("session", (_draft(n),)) for n in numbers]),
            "memory": lambda numbers: _one_by_one(memory, numbers),
        }
        costs: dict[str, list[float]] = {name: [] for name in ways}
        for index in range(_ROUNDS):
            numbers = range(index * _PER_ROUND, (index + 1) * _PER_ROUND)
            turn = index % len(ways)
            for name in [*ways][turn:] + [*ways][:turn]:
                costs[name].append(_seconds(ways[name], numbers) / _PER_ROUND * 1e6)
        count = _ROUNDS * _PER_ROUND
        read = statistics.median(_seconds(lambda _: list(one.read("session"))) for _ in range(5)) / count * 1e6
        verify = statistics.median(_seconds(lambda _: list(one.verify())) for _ in range(5)) / count * 1e6
        bare.db.close()
        one.close()
        group.close()
    at = {name: statistics.median(taken) for name, taken in costs.items()}
    base = at["bare"]
    return [
        Figure("one durable append ÷ a bare FULL insert", at["append"] / base, 1.5, f"{base:.0f} µs bare"),
        Figure("an event in a group of 16 ÷ a bare FULL insert", at["group"] / base, 0.5),
        Figure("an append to the memory log ÷ a bare FULL insert", at["memory"] / base),
        Figure("reading and verifying an event ÷ a bare FULL insert", read / base),
        Figure("`verify` of an event ÷ a bare FULL insert", verify / base),
    ]
