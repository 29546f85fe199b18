"""What a server costs beside a file: appending and reading a log, and playing a world, in one run."""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time

from bench.figures import Figure, Skipped
from bench.rooms_world import BenchWorld, Busy
from hudkit.log import Batch, EventDraft, EventLog, Origin
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import SqliteLog, open_log

TITLE = "a log on PostgreSQL beside one in a file (the server on the same machine, fsync on)"

ROUNDS, PER_ROUND = 60, 16
AGENTS, WORLD_ROUNDS, BEATS = 1_000, 7, 320
LEAST = 0.5
"""The share of the file's beats a second that one process should reach on a server."""
_TEXT = "The migration is one transaction; a copy of the file is made before it, and a crash leaves it whole. " * 2


def _draft(number: int) -> EventDraft:
    id_ = f"0190b5c0-0000-7000-8000-{number:012d}"
    return EventDraft(id_, 1_700_000_000_000 + number, number // 8, Origin.AGENT, NoteAdd(f"{number} {_TEXT}"))


def _one_by_one(log: EventLog, numbers: range) -> None:
    for number in numbers:
        log.append("session", [_draft(number)])


def _group(log: EventLog, numbers: range) -> None:
    log.append_many([Batch("session", (_draft(number),)) for number in numbers])


def _interleaved(ways: dict[str, Callable[[range], object]], rounds: int, size: int) -> dict[str, float]:
    """Median seconds of one of `size`, over rounds that take turns."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for index in range(rounds):
        numbers = range(index * size, (index + 1) * size)
        turn = index % len(ways)
        for name in [*ways][turn:] + [*ways][:turn]:
            start = perf_counter()
            ways[name](numbers)
            taken[name].append((perf_counter() - start) / size)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def run() -> list[Figure]:
    """Ratios to the same work on a file, medians over rounds that take turns."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    helper = import_module("postgres_server")
    if helper.programs() is None:
        raise Skipped("PostgreSQL's server is not here")
    scratch = Path(".cache")
    scratch.mkdir(exist_ok=True)
    with helper.running_server(fsync=True) as server, tempfile.TemporaryDirectory(dir=scratch) as folder:
        url = server.new_log()
        with closing(SqliteLog.open(Path(folder, "log.db"))) as file, closing(open_log(url)) as log:
            ways: dict[str, Callable[[range], object]] = {
                "file": lambda numbers: _one_by_one(file, numbers),
                "server": lambda numbers: _one_by_one(log, numbers),
                "file group": lambda numbers: _group(file, numbers),
                "server group": lambda numbers: _group(log, numbers),
            }
            at = _interleaved(ways, ROUNDS, PER_ROUND)
            count = ROUNDS * PER_ROUND * 2
            reads = {"file": lambda _: list(file.read("session")), "server": lambda _: list(log.read("session"))}
            read = {name: seconds / count for name, seconds in _interleaved(reads, 6, 1).items()}  # type: ignore[arg-type]
        worlds = {
            "file": BenchWorld(Path(folder, "world.db"), AGENTS, Busy(AGENTS)),
            "server": BenchWorld(server.new_log(), AGENTS, Busy(AGENTS)),
        }
        for world in worlds.values():
            world.play(AGENTS)
        ours, theirs = [0.0], [0.0]

        def in_file(_: range) -> None:
            worlds["file"].play(BEATS)

        def on_server(_: range) -> None:
            cpu, spent = process_time(), server.processor_seconds()
            worlds["server"].play(BEATS)
            ours[0] += process_time() - cpu
            theirs[0] += server.processor_seconds() - spent

        playing: dict[str, Callable[[range], object]] = {
            "file": lambda _: worlds["file"].play(BEATS),
            "server": on_server,
        }
        beat = _interleaved(playing, WORLD_ROUNDS, 1)
        for world in worlds.values():
            world.world_log.close()
    share = theirs[0] / (ours[0] + theirs[0])
    rate = BEATS / beat["server"]
    return [
        Figure(
            "one durable append on the server ÷ in the file",
            at["server"] / at["file"],
            note=f"{at['server'] * 1e6:.0f} µs",
        ),
        Figure("an event in a group of 16 on the server ÷ in the file", at["server group"] / at["file group"]),
        Figure("reading and verifying an event on the server ÷ in the file", read["server"] / read["file"]),
        Figure(
            f"seconds a beat of {AGENTS:,} agents on the server ÷ in the file",
            beat["server"] / beat["file"],
            1 / LEAST,
            f"{rate:.0f} beats/s; the server's share of the processor time of both: {share:.0%}",
        ),
    ]
