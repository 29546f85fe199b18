"""A worker for a benchmark: `python -m bench.workers_child URL AGENTS`; it says how many beats it has given."""

from __future__ import annotations

import asyncio
import sys

from bench.rooms_world import Busy, LivelyPlayer
from hudkit.rooms.players import PlayerRegistry
from hudkit.rooms.workers import Worker


async def main(url: str, agents: int) -> None:
    worker = Worker(url, lambda: PlayerRegistry({"lively": LivelyPlayer()}), clock=Busy(agents))
    going = asyncio.create_task(worker.run())
    while not going.done():
        figures = worker.metrics().values()
        print(len(figures), sum(one.beats for one in figures), flush=True)
        await asyncio.sleep(0.1)
    going.result()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
