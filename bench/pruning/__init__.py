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

TITLE = "Pruning: price of a session with our rule, to the cheapest of the other policies (ours ≤ 1.02)"
WINDOWS = (44_000, 128_000, 200_000)
SEEDS = (7, 11, 23)
CACHES = (ANTHROPIC, OPENAI)
NEAR = 1.02
OURS = "ours"

KNOWN_WORSE = {
    ("anthropic", 200_000, "small outputs, 400 calls"): 1.12,
    ("openai", 200_000, "small outputs, 400 calls"): 1.12,
}
"""Where ours is further from the cheapest: hundreds of small outputs in a large window. Most of such a transcript is
words, which a summary can shorten and pruning cannot; and keeping only three results of any size, which we do not do,
keeps less than the end that we protect."""


class Cell(NamedTuple):
    """One shape in one window under one cache's rules: what each policy came to, over all seeds."""

    cache: CachePolicy
    window: int
    shape: str
    outcomes: dict[str, Outcome]

    @property
    def best(self) -> float:
        """The price of the cheapest policy but ours."""
        return min(one.price for name, one in self.outcomes.items() if name != OURS)

    @property
    def ratio(self) -> float:
        return self.outcomes[OURS].price / self.best

    @property
    def most(self) -> float:
        return KNOWN_WORSE.get((self.cache.name, self.window, self.shape), NEAR)


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
    """Ours to the cheapest other, cell by cell, and the mean of every policy over all."""
    found = cells()
    figures = [
        Figure(
            f"{cell.cache.name}, {cell.window // 1_000}k: {cell.shape}",
            cell.ratio,
            cell.most,
            "; ".join(f"{name} {one.price / cell.best:.2f}" for name, one in cell.outcomes.items() if name != OURS),
        )
        for cell in found
    ]
    for policy in POLICIES:
        mean = sum(cell.outcomes[policy].price / cell.best for cell in found) / len(found)
        figures.append(Figure(f"mean of all: {policy}", mean))
    return figures
