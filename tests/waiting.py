"""Waiting for what must come about: as long as it takes on a busy machine, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0
"""Seconds after which a wait is given up: then something is wrong, however busy the machine is."""


def until(holds: Callable[[], object], what: str = "it did not come about") -> None:
    """Waits until something holds. Raises `AssertionError`, which says `what`."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)
