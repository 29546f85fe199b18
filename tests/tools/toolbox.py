"""What the tests of the tools share: a session on a log in memory, and calls on it."""

from __future__ import annotations

import itertools
from typing import Any

from hudkit.hud import ClockAndIds, SessionCore
from hudkit.log import Origin
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.tools import OperationResult, call

OF_THE_PAST = frozenset(
    {
        *("summary", "sessions", "children", "messages", "message", "compactions", "context", "plans", "compare"),
        *("output", "export", "import"),
    }
)
"""Operations that need a past; tests/tools/test_memory_operations.py has one."""


class Letters:
    """Counts characters: the tools never ask, a session needs one."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


def fresh(log: MemoryLog | None = None, id: str = "ses_1") -> SessionCore:
    """A session with time and ids that count up."""
    ticks = itertools.count(1)
    outside = ClockAndIds(
        lambda: 1_795_000_000_000 + next(ticks) * 1000, lambda: f"01a00000-0000-7000-8000-{next(ticks):012x}"
    )
    return SessionCore(MemoryLog() if log is None else log, id, outside, Letters())


def did(session: SessionCore, name: str, origin: Origin = Origin.AGENT, /, **args: Any) -> OperationResult:
    """Call an operation with keyword arguments."""
    return call(session, name, args, origin=origin)


def types(session: SessionCore, after: int = 0) -> list[str]:
    """The types of the stored events."""
    return [event.type for event in session.events(after)]
