"""The time that a world runs by: a real clock, a simulated one, and a world's own pace over either of them."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from contextlib import suppress
from typing import Protocol

from hudkit.clock import unix_ms

_POLL_SECONDS = 0.5
"""Seconds after which a world that rests looks whether another process wrote to its log: no process tells another."""


class Clock(Protocol):
    """Time from outside."""

    poll_seconds: float
    """Seconds after which a world that rests looks whether another process wrote to its log."""

    def wall(self) -> int:
        """Return the time of day in Unix ms. It may be set, and goes backwards then."""
        ...

    def monotonic(self) -> float:
        """Return the seconds since some moment; they never go backwards."""
        ...

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        """Wait until `sign` is set, but not for longer than `seconds`.

        `busy`: somebody is at work who will set it.
        """
        ...


class RealClock:
    """The computer's clocks."""

    poll_seconds = _POLL_SECONDS

    def wall(self) -> int:
        """Return the system's time; see `Clock.wall`."""
        return unix_ms()

    def monotonic(self) -> float:
        """Return the system's monotonic time; see `Clock.monotonic`."""
        return time.monotonic()

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:  # noqa: ARG002
        """See `Clock.wait`."""
        await _wait_at_most(sign, seconds)


class SimulatedClock:
    """A clock that stands still while anybody works, and else jumps to what is awaited: a day in a minute.

    A player that takes its time in it awaits `sleep`.
    """

    poll_seconds = float("inf")

    def __init__(self, start: int = 1_800_000_000_000) -> None:
        """`start`: Unix ms."""
        self._start = start
        self._elapsed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = itertools.count()  # so that sleepers of the same time wake in their order

    def wall(self) -> int:
        """Return the simulated time; see `Clock.wall`."""
        return self._start + round(self._elapsed * 1000)

    def monotonic(self) -> float:
        """Return the simulated monotonic time; see `Clock.monotonic`."""
        return self._elapsed

    def set(self, wall: int) -> None:
        """Set the time of day (Unix ms), as people and time servers do; `monotonic` goes on."""
        self._start = wall - round(self._elapsed * 1000)

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._elapsed += seconds

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds of this clock have passed."""
        over = asyncio.Event()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._numbers), over))
        await over.wait()

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        """See `Clock.wait`; jumps where nobody can go on now."""
        end = self._elapsed + seconds
        # Whoever can go on now does so first. A task may need several turns of the loop before it sleeps or sets the
        # sign.
        for _ in range(5):
            await asyncio.sleep(0)
        if sign.is_set():
            return
        if self._sleepers and self._sleepers[0][0] <= end:
            self._elapsed, _, over = heapq.heappop(self._sleepers)
            over.set()
        elif busy and not self._sleepers:
            await sign.wait()
        elif end < float("inf"):
            self._elapsed = end
        else:  # nothing is awaited here: only another process can go on
            await _wait_at_most(sign, _POLL_SECONDS)


async def _wait_at_most(sign: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await sign.wait()


class WorldTime:
    """The time in a world: it runs `speed` times as fast as the clock, without steps and never backwards."""

    def __init__(self, clock: Clock, last: int, speed: float) -> None:
        """`last`: the time of the world's last event (Unix ms; 0: there is none).

        At speed 1 a world goes on where the clock is; at another one the two differ anyway, and it goes on where it
        stood.
        """
        self._clock = clock
        self._base = max(last, clock.wall()) if speed == 1 or not last else last
        self._mark = clock.monotonic()
        self._speed = speed

    def now(self, last: int = 0) -> int:
        """Return the time in Unix ms, `last` at least: what happened, has happened."""
        now = self._base + round((self._clock.monotonic() - self._mark) * 1000 * self._speed)
        # Another process's clock is ahead: go on from there, or its events would lie in the future for ever.
        if now < last:
            self._base += last - now
            return last
        return now

    def set_speed(self, speed: float) -> None:
        """Let it run `speed` times as fast as the clock from now on."""
        # Base and mark move together, so that the change of pace makes no step.
        self._base = self.now()
        self._mark = self._clock.monotonic()
        self._speed = speed

    def until(self, due: int) -> float:
        """Return the seconds of the clock from now until `due`."""
        return max(0.0, (due - self.now()) / 1000 / self._speed)
