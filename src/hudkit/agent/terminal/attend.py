"""One piece of work of a session, watched: what happens is shown, Ctrl-C cancels it, a second Ctrl-C leaves."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hudkit.agent import events
from hudkit.agent.loop import AgentLoop
from hudkit.agent.terminal.asking import silent
from hudkit.agent.terminal.panel import Panel
from hudkit.agent.terminal.view import View

Outcome = TypeVar("Outcome")

TICK = 0.1
"""Seconds between two looks at what has happened."""

GRACE = 10.0
"""Seconds that work has to end in when the person leaves."""


class Left(Exception):
    """The person wants to leave."""


class Attendant:
    """Who watches an open session. Make it as soon as the session is open: it hears what happens from then on."""

    def __init__(self, loop: AgentLoop, view: View, panel: Panel) -> None:
        self.loop = loop
        self._view = view
        self._panel = panel
        self._heard = loop.events()
        panel.of(loop)

    async def prompt(self, text: str) -> events.TurnEnded:
        """A prompt until it is answered. Raises `Left`."""
        return await self.turn(self.loop.prompt(text))

    async def turn(self, work: Coroutine[Any, Any, events.TurnEnded]) -> events.TurnEnded:
        """A turn until it ends. Raises `Left`."""
        cancelled = events.TurnEnded(self.loop.id, "cancelled", error="cancelled before it began")
        return await self._watched(work, cancelled, lambda ended: ended)

    async def work(self, work: Coroutine[Any, Any, Outcome], otherwise: Outcome) -> Outcome:
        """Work that is no turn; `otherwise` is its outcome where it was cancelled. Raises `Left`."""
        return await self._watched(work, otherwise, lambda _: None)

    async def _watched(
        self,
        work: Coroutine[Any, Any, Outcome],
        otherwise: Outcome,
        ended: Callable[[Outcome], events.TurnEnded | None],
    ) -> Outcome:
        task = asyncio.ensure_future(work)
        self._view.begin()
        over: events.TurnEnded | None = None
        with silent(), self._interrupts(task) as left:
            try:
                while not task.done() and not left.is_set():
                    await asyncio.wait({task}, timeout=TICK)
                    self.show()
                    self._view.tick()
                if not task.done():
                    raise Left
                outcome = otherwise if task.cancelled() else task.result()
                over = ended(outcome)
                return outcome
            finally:
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task}, timeout=GRACE)
                self.show()
                self._panel.refresh()
                self._view.end(over)

    def show(self) -> None:
        """Show what has happened so far."""
        for one in self._heard.take():
            if isinstance(one, events.ResponseFinished | events.CompactionFinished | events.ToolCallUpdated):
                self._panel.refresh()
            self._view.take(one)

    @contextmanager
    def _interrupts(self, task: asyncio.Future[Any]) -> Iterator[asyncio.Event]:
        """Ctrl-C while a task runs: the first cancels it; the event is set by the second, or by a request to end."""
        running, left, first = asyncio.get_running_loop(), asyncio.Event(), True

        def interrupted() -> None:
            nonlocal first
            if not first:
                left.set()
                return
            first = False
            self._view.note("Cancelling; Ctrl-C again leaves.")
            if not self.loop.cancel():
                task.cancel()

        before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
        running.add_signal_handler(signal.SIGINT, interrupted)
        running.add_signal_handler(signal.SIGTERM, left.set)
        try:
            yield left
        finally:
            for one, handler in before.items():
                running.remove_signal_handler(one)
                signal.signal(one, handler)
