"""A clock and ids for tests."""

from __future__ import annotations

import itertools


class Ticking:
    """Time and ids that count up."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self.now = 1_795_000_000_000

    def clock(self) -> int:
        self.now += 1000
        return self.now

    def ids(self) -> str:
        return f"01a00000-0000-7000-8000-{next(self._ids):012x}"
