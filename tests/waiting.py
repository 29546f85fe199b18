"""Waiting for what must come about: as long as it takes on a busy machine, and not for ever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which a wait is given up: then something is wrong, however busy the machine is."""


def until(holds: Callable[[], object], what: str = "it did not come about") -> None:
    """Waits until something holds. Raises `AssertionError`, which says `what`."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process runs, or a thread of it: as long as one does, its files and sockets are open.

    One that ended and was not waited for does not run.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        is_zombie = stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"
        return not is_zombie or len(list(stat.with_name("task").iterdir())) > 1
    except (FileNotFoundError, ProcessLookupError):  # it ended just now
        return False
