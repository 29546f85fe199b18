"""Workers on one PostgreSQL server beside one process on a file, in rounds that take turns: beats a second."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import monotonic, perf_counter, process_time, sleep

from bench.figures import Figure, Skipped
from bench.rooms_world import BenchWorld, Busy

TITLE = "workers on a PostgreSQL server (on the same machine, fsync on), beside one process on a file"

AGENTS, PARTITIONS, ROUNDS = 1_000, 4, 3
WORKERS = (1, 2, 4)
WINDOW = 10.0
"""Seconds that are counted in a round, after all partitions are played."""
LEAST_OF_FILE, LEAST_OF_TWO = 0.5, 1.3


class _Child:
    """A worker, and what it said last: sessions that it plays, and its beats."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "bench.workers_child", url, str(AGENTS // PARTITIONS)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.said = (0, 0)
        Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if len(fields := line.split()) == 2:  # the last line of a process that is ended may be cut off
                self.said = int(fields[0]), int(fields[1])

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _children(url: str, count: int) -> Iterator[list[_Child]]:
    """Workers that have shared the partitions among them."""
    children = [_Child(url) for _ in range(count)]
    try:
        end = monotonic() + 300
        share = PARTITIONS // count
        while any(child.said[0] != share for child in children):
            if monotonic() > end or any(child.process.poll() is not None for child in children):
                raise Skipped("the workers did not come to play")
            sleep(0.05)
        sleep(2.0)  # the first beats of a process fill its caches
        yield children
    finally:
        for child in children:
            child.process.kill()
            child.process.wait()


def run() -> list[Figure]:
    """Beats a second of 1, 2 and 4 workers, medians over rounds that take turns with the file."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    helper = import_module("postgres_server")
    if helper.programs() is None:
        raise Skipped("PostgreSQL's server is not here")
    scratch = Path(".cache").absolute()
    scratch.mkdir(exist_ok=True)
    rates: dict[int, list[float]] = {count: [] for count in (0, *WORKERS)}
    spent: dict[int, list[float]] = {count: [] for count in (0, *WORKERS)}
    shares: dict[int, list[float]] = {count: [] for count in WORKERS}
    with helper.running_server(fsync=True) as server, tempfile.TemporaryDirectory(dir=scratch) as folder:
        url = server.new_log()
        file = BenchWorld(Path(folder, "world.db"), AGENTS, Busy(AGENTS))
        file.play(2 * AGENTS)
        founding = BenchWorld(None, AGENTS, Busy(AGENTS))
        founding.world_log.found_elsewhere(url, PARTITIONS).close()
        with _children(url, 1) as children:
            while children[0].said[1] < 2 * AGENTS:
                sleep(0.1)
        for _ in range(ROUNDS):
            cpu, wall, beats = process_time(), perf_counter(), 0
            while perf_counter() - wall < WINDOW:
                file.play(320)
                beats += 320
            rates[0].append(beats / (perf_counter() - wall))
            spent[0].append((process_time() - cpu) / beats)
            for count in WORKERS:
                with _children(url, count) as children:
                    begun = [child.said[1] for child in children]
                    cpu, theirs = sum(child.processor_seconds() for child in children), server.processor_seconds()
                    wall = perf_counter()
                    sleep(WINDOW)
                    beats = sum(child.said[1] for child in children) - sum(begun)
                    rates[count].append(beats / (perf_counter() - wall))
                    cpu = sum(child.processor_seconds() for child in children) - cpu
                    theirs = server.processor_seconds() - theirs
                    spent[count].append((cpu + theirs) / beats)
                    shares[count].append(theirs / (cpu + theirs))
        file.world_log.close()
    rate = {count: statistics.median(values) for count, values in rates.items()}
    share = {count: statistics.median(values) for count, values in shares.items()}
    cost = {count: statistics.median(values) for count, values in spent.items()}
    load = os.getloadavg()[0]

    def note(count: int) -> str:
        return (
            f"{rate[count]:.0f} beats/s, {1e3 * cost[count]:.2f} ms of processors a beat, "
            f"the server's share of them {share[count]:.0%}"
        )

    return [
        Figure(
            "one process on a file ÷ one worker, beats a second",
            rate[0] / rate[1],
            1 / LEAST_OF_FILE,
            f"{note(1)}; the file {rate[0]:.0f} beats/s, {1e3 * cost[0]:.2f} ms; load {load:.0f}",
        ),
        Figure(
            "one worker ÷ two", rate[1] / rate[2], 1 / LEAST_OF_TWO, f"two {rate[2] / rate[1]:.2f} × one: {note(2)}"
        ),
        Figure("one worker ÷ four", rate[1] / rate[4], None, f"four {rate[4] / rate[1]:.2f} × one: {note(4)}"),
    ]
