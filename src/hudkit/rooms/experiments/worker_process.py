"""A process that plays runs of an experiment: `python -m hudkit.rooms.experiments.worker_process FOLDER`.

Its standard input has the experiment in the first line and a run in each further line, as JSON; on its standard
output it says how far each run is. When the input ends, the process does so too, within a moment, whatever it is
doing: so it outlives no parent, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

from hudkit.errors import HudkitError
from hudkit.rooms.experiments.experiment_file import Experiment
from hudkit.rooms.experiments.play_run import play_run


class RunOrder(msgspec.Struct, frozen=True):
    """A run to be played: the number of its variant, and its seed."""

    variant: int
    seed: int


class RunNews(msgspec.Struct, frozen=True):
    """How far a run is. `ended` empty: it is under way; `error`: why it cannot be played."""

    beats: int = 0
    cost: float = 0.0
    ended: str = ""
    error: str = ""


async def _serve(folder: Path) -> None:
    reader = asyncio.StreamReader(limit=2**26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    experiment = msgspec.json.decode(await reader.readline(), type=Experiment)
    orders: asyncio.Queue[RunOrder | None] = asyncio.Queue()
    stop = asyncio.Event()

    async def read_orders() -> None:
        while line := await reader.readline():
            orders.put_nowait(msgspec.json.decode(line, type=RunOrder))
        stop.set()
        orders.put_nowait(None)

    reading = asyncio.create_task(read_orders())
    while (order := await orders.get()) is not None and not stop.is_set():
        last = RunNews()

        def report(beats: int, cost: float) -> None:
            nonlocal last
            last = RunNews(beats, cost)
            _tell(last)

        try:
            ended = await play_run(experiment, experiment.variants[order.variant], order.seed, folder, report, stop)
            _tell(msgspec.structs.replace(last, ended=ended))
        except HudkitError as error:
            hint = f" ({error.hint})" if error.hint else ""
            _tell(msgspec.structs.replace(last, error=f"{error}{hint}"))
    await reading


def _tell(news: RunNews) -> None:
    # A parent that is gone reads nothing; its end of the input says so, too.
    with suppress(BrokenPipeError):
        os.write(1, msgspec.json.encode(news) + b"\n")


if __name__ == "__main__":
    # The keyboard's signal goes to the parent too, which ends the input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(_serve(Path(sys.argv[1])))
