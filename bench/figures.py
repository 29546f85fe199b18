"""A figure of a benchmark: a ratio to a baseline of the same run, and the most that it may be."""

from __future__ import annotations

import msgspec


class Skipped(Exception):
    """A benchmark cannot run here; the message says what is missing."""


class Figure(msgspec.Struct, frozen=True):
    """`most` is `None` where a figure is only reported."""

    name: str
    ratio: float
    most: float | None = None
    note: str = ""

    @property
    def kept(self) -> bool:
        return self.most is None or self.ratio <= self.most
