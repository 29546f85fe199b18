"""The price of pruning against not to prune and the rules that others use: exact, on simulated caches."""

from __future__ import annotations

import re

import pytest
from bench.pruning import NONE, OURS, WORST, Cell, cells
from bench.pruning.policies import BY_PRICE, POLICIES
from bench.pruning.sessions import SHAPES

from campaigns import Campaign

pytestmark = pytest.mark.slow

COSTS = Campaign("pruning", quick=6, full=len(SHAPES))
"""Shapes of sessions, those with the fewest calls first."""


def calls_of(shape: str) -> int:
    return int(re.findall(r"(\d+) calls", shape)[0])


@COSTS
def test_the_price_of_pruning() -> None:
    """One test, so that the sessions are simulated once, however the tests are shared out."""
    found = cells(sorted(SHAPES, key=calls_of)[: COSTS.rounds])
    assert len(found) == 2 * 3 * COSTS.rounds
    it_is_hardly_ever_dearer_than_no_pruning(found)
    its_worst_is_better_than_that_of_rules_by_thresholds(found)
    it_breaks_prefixes_seldom(found)
    it_lets_little_be_fetched_again(found)


def it_is_hardly_ever_dearer_than_no_pruning(found: list[Cell]) -> None:
    ratios = [cell.ratio() for cell in found]
    assert max(ratios) <= WORST
    assert sum(ratio > 1.005 for ratio in ratios) <= len(ratios) / 20
    assert sum(ratios) / len(ratios) < 1


def its_worst_is_better_than_that_of_rules_by_thresholds(found: list[Cell]) -> None:
    """They ask for no price, and cost up to four times the session without them."""
    others = [name for name in POLICIES if name not in (NONE, OURS, BY_PRICE)]
    for name in others:
        assert max(cell.ratio() for cell in found) < max(cell.ratio(name) for cell in found), name


def it_breaks_prefixes_seldom(found: list[Cell]) -> None:
    for cell in found:
        ours = cell.outcomes[OURS]
        assert ours.breaks <= ours.calls / 50


def it_lets_little_be_fetched_again(found: list[Cell]) -> None:
    """Hardly more than without it: then, a compaction takes the outputs away."""
    ours, none = (sum(cell.outcomes[name].fetched for cell in found) for name in (OURS, NONE))
    assert ours <= none * 1.05
