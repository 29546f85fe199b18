"""What pruning policies cost on the same sessions, under the rules of provider caches, in exact simulated prices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from random import Random
from typing import NamedTuple

from bench.figures import Figure
from bench.pruning.policies import POLICIES
from bench.pruning.ride import Outcome, ride
from bench.pruning.sessions import SHAPES
from hudkit.context.caching import ANTHROPIC, OPENAI, CachePolicy

TITLE = "Pruning: price of a session with our rule, to the same session without pruning (≤ 1.04)"
WINDOWS = (44_000, 128_000, 200_000)
SEEDS = (7, 11, 23)
CACHES = (ANTHROPIC, OPENAI)
OURS, NONE = "ours", "none"

WORST = 1.04
"""What a cell may cost, to no pruning. Above 1 are sessions that a pruning saved a compaction: they carry a long
transcript for longer, and that costs more than the compaction would have."""


class Cell(NamedTuple):
    """One shape in one window under one cache's rules: what each policy came to, over all seeds."""

    cache: CachePolicy
    window: int
    shape: str
    outcomes: dict[str, Outcome]

    def ratio(self, policy: str = OURS) -> float:
        """Return the price with a policy, to that without pruning."""
        return self.outcomes[policy].price / self.outcomes[NONE].price


def cells(names: Iterable[str] = tuple(SHAPES)) -> list[Cell]:
    """Every shape in every window under every cache's rules; the same at every run."""
    return [
        Cell(cache, window, name, {policy: _over_seeds(name, policy, window, cache) for policy in POLICIES})
        for cache in CACHES
        for window in WINDOWS
        for name in names
    ]


@cache
def _over_seeds(shape: str, policy: str, window: int, cache: CachePolicy) -> Outcome:
    runs = (ride(SHAPES[shape](Random(seed)), POLICIES[policy](), window, cache) for seed in SEEDS)
    return Outcome(*(sum(column) for column in zip(*runs, strict=True)))


def run() -> list[Figure]:
    """Each policy to no pruning, cell by cell, and over all: the mean, the worst, and what was fetched again."""
    found = cells()
    figures = [
        Figure(
            f"{cell.cache.name}, {cell.window // 1_000}k: {cell.shape}",
            cell.ratio(),
            WORST,
            "; ".join(f"{name} {cell.ratio(name):.2f}" for name in POLICIES if name not in (OURS, NONE)),
        )
        for cell in found
    ]
    for policy in POLICIES:
        ratios = [cell.ratio(policy) for cell in found]
        outcomes = [cell.outcomes[policy] for cell in found]
        calls, breaks, fetched = (
            sum(getattr(one, name) for one in outcomes) for name in ("calls", "breaks", "fetched")
        )
        words = (
            f"worst {max(ratios):.2f}; {fetched} of {calls} calls fetch an output again, {breaks} break the prefix"
        )
        figures.append(Figure(f"mean of all: {policy}", sum(ratios) / len(ratios), note=words))
    return figures
