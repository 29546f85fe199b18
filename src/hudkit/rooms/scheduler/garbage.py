"""Garbage collection in a process that plays a world: what lives as long as the world is walked a few times only."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_OLDEST = 2
"""The generation whose collection walks everything that is not frozen."""
_MOST_BETWEEN = 1_024
"""Collections of the oldest generation after which one walks what is frozen, too."""


@contextmanager
def freeze_survivors() -> Iterator[None]:
    """Let what outlives a full collection be frozen (`gc.freeze`) until this ends; for the whole process.

    A world of 100,000 agents has some four million objects that the collector knows, and a full collection walks
    all of them: seconds, in which no beat begins. Nearly all live as long as the world, and what of them does not is
    freed by its count of references. So a collection walks what came since the last one. For cycles among what was
    frozen, the first, second, fourth, eighth … collection walks everything: each object is walked a few times in all.
    """
    collections = 0

    def follow(phase: str, info: dict[str, int]) -> None:
        nonlocal collections
        if info["generation"] != _OLDEST:
            return
        if phase == "stop":
            gc.freeze()
            return
        collections += 1
        is_power_of_two = collections & (collections - 1) == 0
        if is_power_of_two or collections % _MOST_BETWEEN == 0:
            gc.unfreeze()

    gc.callbacks.append(follow)
    try:
        yield
    finally:
        gc.callbacks.remove(follow)
        gc.unfreeze()
