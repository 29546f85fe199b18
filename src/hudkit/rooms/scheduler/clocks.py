"""The time that a world runs by: a real clock, one that jumps to whatever is next, and a world's own pace over it."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from contextlib import suppress
from typing import Protocol

POLL_SECONDS = 0.5
"""Seconds after which a world that rests looks whether another process wrote to its log."""


class Clock(Protocol):
    """Time from outside."""

    patience: float
    """Seconds after which a world that rests looks whether another process wrote to its log."""

    def wall(self) -> int:
        """Unix ms. It may be set, and goes backwards then."""
        ...

    def passed(self) -> float:
        """Seconds since some moment; it never goes backwards."""
        ...

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        """Until `sign` is set, but not for longer than `seconds`. `busy`: somebody is at work who will set it."""
        ...


class RealClock:
    """The computer's clocks."""

    patience = POLL_SECONDS

    def wall(self) -> int:
        return time.time_ns() // 1_000_000

    def passed(self) -> float:
        return time.monotonic()

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:  # noqa: ARG002
        await _awaited(sign, seconds)


class SimulatedClock:
    """A clock that stands still while anybody works, and else jumps to what is awaited: a day in a minute.

    A mind that takes its time in it awaits `sleep`.
    """

    patience = float("inf")

    def __init__(self, start: int = 1_800_000_000_000) -> None:
        """`start`: Unix ms."""
        self._start = start
        self._passed = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []
        self._numbers = itertools.count()

    def wall(self) -> int:
        return self._start + round(self._passed * 1000)

    def passed(self) -> float:
        return self._passed

    def set(self, wall: int) -> None:
        """Set the time of day, as people and time servers do; what passed stays what it is."""
        self._start = wall - round(self._passed * 1000)

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += seconds

    async def sleep(self, seconds: float) -> None:
        """Until so many seconds have passed."""
        over = asyncio.Event()
        heapq.heappush(self._sleepers, (self._passed + seconds, next(self._numbers), over))
        await over.wait()

    async def wait(self, seconds: float, sign: asyncio.Event, *, busy: bool) -> None:
        end = self._passed + seconds
        for _ in range(5):  # whoever can go on now does so first
            await asyncio.sleep(0)
        if sign.is_set():
            return
        if self._sleepers and self._sleepers[0][0] <= end:
            self._passed, _, over = heapq.heappop(self._sleepers)
            over.set()
        elif busy and not self._sleepers:
            await sign.wait()
        elif end < float("inf"):
            self._passed = end
        else:  # nothing is awaited here: only another process can go on
            await _awaited(sign, POLL_SECONDS)


async def _awaited(sign: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await sign.wait()


class WorldTime:
    """The time in a world: it runs `speed` times as fast as the clock, without steps and never backwards."""

    def __init__(self, clock: Clock, last: int, speed: float) -> None:
        """`last`: the time of the world's last event. At speed 1 a world goes on where the clock is, else where it
        stood."""
        self._clock = clock
        self._base = max(last, clock.wall()) if speed == 1 or not last else last
        self._mark = clock.passed()
        self._speed = speed

    def now(self, last: int = 0) -> int:
        """Unix ms, `last` at least: what happened, has happened."""
        now = self._base + round((self._clock.passed() - self._mark) * 1000 * self._speed)
        if now < last:
            self._base += last - now
            return last
        return now

    def set_speed(self, speed: float) -> None:
        self._base = self.now()
        self._mark = self._clock.passed()
        self._speed = speed

    def until(self, due: int) -> float:
        """Seconds of the clock from now until `due`."""
        return max(0.0, (due - self.now()) / 1000 / self._speed)
