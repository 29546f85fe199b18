"""All runs of an experiment, several at once, each in a process; what is finished already is not run again.

One experiment is played by one command at a time. A lock on the results' folder says so, which the processes that
play share with it: after a kill the next command waits until the last of them has ended.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from hudkit.errors import ConfigError
from hudkit.rooms.experiments.experiment_file import Experiment, Variant
from hudkit.rooms.experiments.play_run import STOPPED, RunFiles, definition_of
from hudkit.rooms.experiments.run_tables import RunTables
from hudkit.rooms.experiments.worker_process import RunNews, RunOrder

_LOCK_SECONDS = 10.0
"""Seconds that are waited for the processes of a command that was killed."""

CAP_REACHED = "the cap was reached"


class Progress(msgspec.Struct):
    """How far an experiment is: runs in all, finished before, finished now, failed; beats and dollars of this
    command."""

    total: int
    before: int = 0
    finished: int = 0
    failed: int = 0
    beats: int = 0
    cost: float = 0.0
    """Of all runs, with those that were finished before."""
    errors: list[str] = []


@contextmanager
def locked_results(folder: Path) -> Iterator[int]:
    """Lock a results' folder, which is made, and yield the lock's descriptor. Raises `ConfigError` where it is
    locked."""
    folder.mkdir(parents=True, exist_ok=True)
    fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise ConfigError(
                        f"another process runs the experiment in {folder}",
                        hint="Wait for it, or name another --output",
                    ) from None
                time.sleep(0.05)
        yield fd
    finally:
        os.close(fd)


def finished_tables(experiment: Experiment, folder: Path) -> list[RunTables]:
    """Return the tables of the runs that are finished, in the order of variants and then of seeds."""
    tables = []
    for variant in experiment.variants:
        for seed in experiment.seeds:
            record = RunFiles(folder, variant.name, seed).record()
            if record is not None and record.ended and record.tables is not None:
                tables.append(record.tables)
    return tables


def check_results(experiment: Experiment, folder: Path, *, restart: bool) -> list[tuple[Variant, int]]:
    """Return the runs that are not finished. With `restart` all of them are, and what there is goes.

    Raises `ConfigError` where the folder has a run that is defined otherwise.
    """
    left = []
    for variant, seed in experiment.runs():
        files = RunFiles(folder, variant.name, seed)
        if restart:
            files.remove()
        record = files.record()
        if record is not None and record.definition != definition_of(experiment, variant, seed):
            raise ConfigError(
                f"{folder} has the run {files.name} of an experiment that was another one",
                hint="Name another --output, or play all runs again with --restart",
            )
        if record is None or not record.ended:
            left.append((variant, seed))
    return left


class RunQueue:
    """The runs of an experiment that are not finished, as processes play them."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Path,
        runs: Sequence[tuple[Variant, int]],
        *,
        processes: int,
        cap: float,
        lock: int,
        on_news: Callable[[Progress], None],
    ) -> None:
        """`cap` in dollars, 0: none. `lock` is the descriptor of `locked_results`; `on_news` is called at each
        change."""
        self._experiment, self._folder = experiment, folder
        self._waiting = list(reversed(runs))
        self._processes = min(processes, max(1, len(runs)))
        self._cap, self._lock, self._on_news = cap, lock, on_news
        self._under_way: dict[int, RunNews] = {}
        self._done_cost = sum(tables.cost for tables in finished_tables(experiment, folder))
        self._done_beats = 0
        total = len(experiment.runs())
        self.progress = Progress(total, total - len(runs), cost=self._done_cost)
        self.stopped = ""
        """Why it ended before all was played."""
        self._children: set[asyncio.subprocess.Process] = set()

    async def play(self) -> None:
        """Play all runs. Runs that cannot be played are among the progress's errors."""
        self._check_cap()
        workers = [self._work(number) for number in range(self._processes if self._waiting else 0)]
        await asyncio.gather(*workers)

    def stop(self, why: str) -> None:
        """Let all processes end soon; what they play can be resumed."""
        self.stopped = self.stopped or why
        self._waiting.clear()
        for child in self._children:
            if child.stdin is not None:
                child.stdin.close()

    async def _work(self, number: int) -> None:
        if not self._waiting:
            return
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "hudkit.rooms.experiments.worker_process",
            str(self._folder),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(self._lock,),
        )
        assert child.stdin is not None and child.stdout is not None
        self._children.add(child)
        try:
            child.stdin.write(msgspec.json.encode(self._experiment) + b"\n")
            while self._waiting and not self.stopped:
                variant, seed = self._waiting.pop()
                order = RunOrder(self._experiment.variants.index(variant), seed)
                child.stdin.write(msgspec.json.encode(order) + b"\n")
                if not await self._follow(number, child.stdout):
                    if not self.stopped:
                        self._fail(f"{variant.name}, seed {seed}: its process ended with {await child.wait()}")
                    break
        finally:
            self._children.discard(child)
            child.stdin.close()
            with suppress(ProcessLookupError):
                await child.wait()

    async def _follow(self, number: int, output: asyncio.StreamReader) -> bool:
        """Follow one run to its end; return whether the process can play another."""
        while line := await output.readline():
            news = msgspec.json.decode(line, type=RunNews)
            self._under_way[number] = news
            if news.error:
                self._fail(news.error)
            elif news.ended and news.ended != STOPPED:
                self.progress.finished += 1
            if news.ended or news.error:
                self._done_cost += news.cost
                self._done_beats += news.beats
                del self._under_way[number]
            self._check_cap()
            self._on_news(self.progress)
            if news.ended or news.error:
                return True
        return False

    def _fail(self, error: str) -> None:
        self.progress.failed += 1
        if error not in self.progress.errors:
            self.progress.errors.append(error)

    def _check_cap(self) -> None:
        self.progress.cost = self._done_cost + sum(news.cost for news in self._under_way.values())
        self.progress.beats = self._done_beats + sum(news.beats for news in self._under_way.values())
        if self._cap and self.progress.cost >= self._cap:
            self.stop(CAP_REACHED)
