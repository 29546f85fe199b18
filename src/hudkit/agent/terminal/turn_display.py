"""A turn on a terminal: what happens is shown, Ctrl-C cancels it, and a second Ctrl-C leaves."""

from __future__ import annotations

import asyncio
import signal
import sys
import termios
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from hudkit.agent import events
from hudkit.agent.loop import AgentLoop
from hudkit.agent.records import Attachment
from hudkit.agent.terminal.panel import Panel
from hudkit.agent.terminal.prompt_source import PromptSource
from hudkit.agent.terminal.view import View

_Outcome = TypeVar("_Outcome")

_TICK = 0.1
"""Seconds between two looks at what has happened."""

_GRACE = 10.0
"""Seconds that work has to end in when the person leaves."""


class UserLeft(Exception):
    """The person wants to leave."""


class TurnDisplay:
    """Shows what happens in an open session, from the moment on when it is made.

    `line` keeps what is typed meanwhile; without one, keys are hidden and left to who reads next.
    """

    def __init__(self, loop: AgentLoop, view: View, panel: Panel, line: PromptSource | None = None) -> None:
        self.loop = loop
        self._view = view
        self._panel = panel
        self._line = line
        self._events = loop.events()
        panel.of(loop)

    async def prompt(
        self,
        text: str,
        files: Sequence[Attachment] = (),
        beside: Sequence[str] = (),
        answer_type: object = None,
    ) -> events.TurnEnded:
        """Send a prompt, show its turn, and return how it ended; the rest is as for `AgentLoop.prompt`.

        Raises `UserLeft`.
        """
        return await self.turn(self.loop.prompt(text, files, beside=beside, answer_type=answer_type))

    async def turn(self, work: Coroutine[Any, Any, events.TurnEnded]) -> events.TurnEnded:
        """Show a turn, and return how it ended. Raises `UserLeft`."""
        cancelled = events.TurnEnded(self.loop.id, "cancelled", error="cancelled before it began")
        return await self._watched(work, cancelled, lambda ended: ended)

    async def work(self, work: Coroutine[Any, Any, _Outcome], otherwise: _Outcome, doing: str = "") -> _Outcome:
        """Show work that is no turn; return its outcome, `otherwise` where it was cancelled. Raises `UserLeft`."""
        return await self._watched(work, otherwise, lambda _: None, doing)

    async def _watched(
        self,
        work: Coroutine[Any, Any, _Outcome],
        otherwise: _Outcome,
        ended: Callable[[_Outcome], events.TurnEnded | None],
        doing: str = "",
    ) -> _Outcome:
        task = asyncio.ensure_future(work)
        self._view.begin(doing)
        over: events.TurnEnded | None = None
        keys = self._line.busy() if self._line is not None else _hidden_keys()
        with keys, self._interrupts(task) as left:
            try:
                while not task.done() and not left.is_set():
                    await asyncio.wait({task}, timeout=_TICK)
                    self.show()
                    self._view.tick()
                if not task.done():
                    raise UserLeft
                outcome = otherwise if task.cancelled() else task.result()
                over = ended(outcome)
                return outcome
            finally:
                if not task.done():
                    task.cancel()
                    await asyncio.wait({task}, timeout=_GRACE)
                self.show()
                self._panel.refresh()
                self._view.end(over)

    def show(self) -> None:
        """Show what has happened so far; return nothing."""
        for event in self._events.take():
            if isinstance(event, events.ResponseFinished | events.CompactionFinished | events.ToolCallUpdated):
                self._panel.refresh()
            self._view.take(event)

    @asynccontextmanager
    async def aside(self) -> AsyncIterator[None]:
        """Show what led to a question, and leave the keys to it while the block runs."""
        self.show()
        typed = self._line.typed if self._line is not None else None
        if typed is None:
            yield
            return
        await typed.line_finished()
        with typed.suspended():
            yield

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
            if self._line is not None and self._line.typed is not None:
                self._line.typed.recall()
            if not self.loop.cancel():
                task.cancel()

        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        running.add_signal_handler(signal.SIGINT, interrupted)
        running.add_signal_handler(signal.SIGTERM, left.set)
        try:
            yield left
        finally:
            for number, handler in before.items():
                running.remove_signal_handler(number)
                signal.signal(number, handler)


@contextmanager
def _hidden_keys() -> Iterator[None]:
    """Keep keys from being shown while the block runs; they are there for the next prompt."""
    fd = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else -1
    if fd < 0:
        yield
        return
    before = termios.tcgetattr(fd)
    quiet = termios.tcgetattr(fd)
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(fd, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
