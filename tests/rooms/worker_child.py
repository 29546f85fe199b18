"""Workers in processes that begin fast, so that many can be killed: forked from one that has imported everything."""

from __future__ import annotations

import asyncio
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized

from runner_child import talk

from hudkit.rooms.hud import CachedRenderer
from hudkit.rooms.players import DelayedPlayer, Improviser, PlayerRegistry, ScriptedPlayer
from hudkit.rooms.workers import Worker
from waiting import until

CachedRenderer().count("The vocabulary is loaded here, and not in each worker.")
_context = get_context("forkserver")
_context.set_forkserver_preload([__name__])


def players() -> PlayerRegistry:
    slow = DelayedPlayer(ScriptedPlayer(talk), lambda _: asyncio.sleep(0.003))
    return PlayerRegistry({"improviser": Improviser(), "slow": slow})


class WorkerChild:
    """A worker in a process of its own; `beats` is how many it has given."""

    def __init__(self, url: str, seconds: float) -> None:
        self._beats: Synchronized[int] = _context.Value("q", 0)
        self._process = _context.Process(target=_play, args=(url, seconds, self._beats), daemon=True)
        self._process.start()

    def wait_for_beats(self, count: int) -> None:
        """Wait until it has given so many more; it may have to wait for its lease first."""
        end = self._beats.value + count
        until(lambda: self._beats.value >= end or not self._process.is_alive(), "it gives no beats")
        assert self._process.is_alive(), "it ended by itself"

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


def _play(url: str, seconds: float, beats: Synchronized[int]) -> None:
    asyncio.run(_count(Worker(url, players, seconds=seconds), beats))


async def _count(worker: Worker, beats: Synchronized[int]) -> None:
    going = asyncio.create_task(worker.run())
    before: dict[str, int] = {}
    while not going.done():
        now = {session: figures.beats for session, figures in worker.metrics().items()}
        # What is taken up anew begins to count anew.
        beats.value += sum(max(0, count - before.get(session, 0)) for session, count in now.items())
        before = now
        await asyncio.sleep(0.005)
    going.result()
