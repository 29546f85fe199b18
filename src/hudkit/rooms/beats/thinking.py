"""Beats whose minds take their time: tasks that run while the world goes on, and what they came to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from hudkit.rooms.minds.mind import Asked, Mind, Thought
from hudkit.rooms.scheduling import Claim


class Work(msgspec.Struct):
    """A beat that is under way. `at`: the clock's seconds when it began; `entry`: that of the model's admission."""

    claim: Claim
    model: str
    at: float
    entry: list[float] | None = None


class Start(NamedTuple):
    """A beat that waits for its mind."""

    work: Work
    mind: Mind
    asked: Asked


class Thinking:
    """All of them in one process. `answered` is called when one is over."""

    def __init__(self, answered: Callable[[Work, Thought], None]) -> None:
        self.over: list[tuple[Work, Thought]] = []
        """Thoughts that nothing was done with yet, in the order in which they came."""
        self._answered = answered
        self._tasks: dict[asyncio.Task[Thought], Work] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, start: Start) -> asyncio.Task[Thought]:
        """Let a mind think."""
        task = asyncio.create_task(_think(start.mind, start.asked))
        self._tasks[task] = start.work
        task.add_done_callback(self._done)
        return task

    async def end(self, drop: Callable[[list[Work]], None]) -> None:
        """Give up all that is under way; `drop` is told at once what that was."""
        tasks, works = list(self._tasks), [*self._tasks.values(), *(work for work, _ in self.over)]
        self._tasks, self.over = {}, []
        for task in tasks:
            task.cancel()
        drop(works)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: asyncio.Task[Thought]) -> None:
        work = self._tasks.pop(task, None)
        if work is not None and not task.cancelled():
            self.over.append((work, task.result()))
            self._answered(work, task.result())


async def _think(mind: Mind, asked: Asked) -> Thought:
    try:
        return await mind.think(asked)
    except Exception as error:  # a mind that breaks its word costs one beat, not the world
        return Thought(error=f"{type(error).__name__}: {error}")
