"""A worker plays what of a world nobody else plays: it takes leases, plays, and gives back what others should have.

A world has one session of events, or one for each of its partitions. Each is played by one worker at a time, which
has the lease on it; what a worker knows of a session it reads from the log. Workers share by counting: with four
sessions and two workers each takes two; when a third comes, one that has more than its share lets the beats of one
session end, and gives it back. A worker that is killed renews nothing: after the length of a lease another one takes
its sessions, finds beats that were begun and are in nobody's hands, and asks these agents again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from math import ceil

from hudkit.errors import HudkitError
from hudkit.rooms.players import PlayerRegistry
from hudkit.rooms.scheduler import Clock, ModelQuota, RealClock, RunnerMetrics, WorldRunner
from hudkit.rooms.workers.lease_keeper import LEASE_SECONDS, LeaseKeeper, SessionLease
from hudkit.rooms.world_log import WorldLog, played_sessions

_WORKERS = "workers"
"""The session of the leases by which workers know of each other."""
_LOOKS = 6
"""Looks for sessions without a player, within the length of a lease."""
_RETRY_SECONDS = 1.0
"""Seconds after which a session is tried again whose playing failed."""

_log = logging.getLogger("hudkit.rooms")


class _PlayedSession:
    """A session that this worker plays."""

    def __init__(self, lease: SessionLease, world_log: WorldLog, runner: WorldRunner) -> None:
        self.lease = lease
        self.world_log = world_log
        self.runner = runner
        self.task = asyncio.create_task(runner.run())
        self.gives_back = False


class Worker:
    """One process's part in playing a world on a server, together with other workers. Not for several threads."""

    def __init__(
        self,
        url: str,
        players: Callable[[], PlayerRegistry],
        *,
        quotas: Mapping[str, ModelQuota] | None = None,
        clock: Clock | None = None,
        seconds: float = LEASE_SECONDS,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """`players` makes the registry of each session; `quotas` are those of this process. `seconds`: the length of
        a lease. `say` is told in words what this worker takes up and gives back."""
        self._url = url
        self._players = players
        self._quotas = quotas
        self._clock = clock or RealClock()
        self._seconds = seconds
        self._say = say or (lambda _: None)
        self._played: dict[str, _PlayedSession] = {}
        self._not_before: dict[str, float] = {}
        self._stopping = asyncio.Event()
        self._done = RunnerMetrics()
        self._loop: asyncio.AbstractEventLoop | None = None

    def stop(self) -> None:
        """Let no beat begin any more; `run` returns when those under way are over."""
        self._stopping.set()
        for played in self._played.values():
            played.runner.finish()

    def metrics(self) -> dict[str, RunnerMetrics]:
        """Return how it goes, by session."""
        return {session: played.runner.metrics() for session, played in self._played.items()}

    async def run(self) -> None:
        """Play until `stop`. A server that is away is waited for. Raises a `StoreError` where there is none at first,
        and `ConfigError` where it has no world."""
        self._loop = asyncio.get_running_loop()
        sessions = played_sessions(self._url)
        with LeaseKeeper(self._url, seconds=self._seconds, on_notice=self._on_notice) as keeper:
            presence = keeper.take(_WORKERS, exclusive=False)
            while not self._stopping.is_set():
                try:
                    if presence is None or not presence.holds:
                        presence = keeper.take(_WORKERS, exclusive=False)
                    await self._share(keeper, sessions)
                except HudkitError as error:  # the server is away: what is played ends by itself, and is taken again
                    _log.warning("worker: %s", error)
                await self._end_finished(keeper)
                await self._pause()
            for played in self._played.values():
                played.runner.finish()
            while self._played:
                await asyncio.wait([played.task for played in self._played.values()], timeout=self._seconds / _LOOKS)
                await self._end_finished(keeper)

    async def _pause(self) -> None:
        tasks = [played.task for played in self._played.values()]
        stopping = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([*tasks, stopping], timeout=self._seconds / _LOOKS, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()

    async def _share(self, keeper: LeaseKeeper, sessions: tuple[str, ...]) -> None:
        """Take sessions that nobody plays, up to this worker's share; give back what is beyond it."""
        live = await asyncio.to_thread(keeper.live)
        workers = {lease.holder for lease in live if lease.session_id == _WORKERS} | {keeper.holder}
        taken = {lease.session_id for lease in live if lease.exclusive}
        share = ceil(len(sessions) / len(workers))
        now = self._clock.monotonic()
        for session in sessions:
            if len(self._played) >= share:
                break
            if session not in taken and session not in self._played and now >= self._not_before.get(session, 0.0):
                await self._take(keeper, session)
        staying = [played for played in self._played.values() if not played.gives_back]
        for played in staying[share:]:
            played.gives_back = True
            played.runner.finish()

    async def _take(self, keeper: LeaseKeeper, session: str) -> None:
        lease = await asyncio.to_thread(keeper.take, session, exclusive=True)
        if lease is None:
            return
        self._not_before[session] = self._clock.monotonic() + _RETRY_SECONDS
        try:
            world_log = await asyncio.to_thread(WorldLog.open_session, self._url, session)
        except BaseException:
            keeper.release(lease)
            raise
        runner = WorldRunner(world_log, self._players(), clock=self._clock, quotas=self._quotas, leases=lease)
        self._played[session] = _PlayedSession(lease, world_log, runner)
        self._say(f"plays {session}")

    async def _end_finished(self, keeper: LeaseKeeper) -> None:
        """Close what is over, and end what another worker may have taken."""
        for session, played in list(self._played.items()):
            if not played.task.done() and not played.lease.holds:
                # Too late to renew: another one may play it by now. The log's fence sees to what is under way.
                played.runner.stop()
            if not played.task.done():
                continue
            del self._played[session]
            error = played.task.exception()
            if error is not None and not isinstance(error, HudkitError):
                raise error
            if error is not None:
                _log.warning("worker: %s: %s", session, error)
            await asyncio.to_thread(played.world_log.close)
            await asyncio.to_thread(keeper.release, played.lease)
            self._say(f"gave {session} back" if error is None else f"lost {session}: {error}")

    def _on_notice(self, session: str) -> None:
        """Look at a session at once of which another process says that it wrote there (in the keeper's thread)."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look, session)

    def _look(self, session: str) -> None:
        for played in self._played.values():
            if session in (played.world_log.session, played.world_log.inbox):
                played.runner.look()
