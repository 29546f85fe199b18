"""Fit trees one after the other: costs and plans are kept, so that a tree of which a few nodes changed is quick.

The idea of the incremental fit: most trees of a session are the tree before with a few items changed. Elements are
shared between them, so the trees are compared by identity, and only below what differs. Where all that differs are
candidates that stay or go whole, each is replaced in the plan: one in its container, one in the order of ranks, one
in the list of costs. Everything else of the plan stays, and the result is that of a new plan.

An example: a list of 1,000 items, and one that changes from "colour" to "colours". 999 items are the same objects.
The plan gets one new candidate at the same rank with its own cost, measured once, and the selection runs again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from operator import attrgetter, is_not

from hudkit.compose.fitting.atomic import FitMeasures
from hudkit.compose.fitting.candidates import Container, FitCandidate
from hudkit.compose.fitting.growth import resolve_shares
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import FitResult, Grow, Measure
from hudkit.compose.fitting.selection import Selection
from hudkit.compose.fitting.traits import PRUNABLE, SPECIAL, STRUCTURAL_TAGS, standalone, traits
from hudkit.compose.fitting.verification import EXACT_CANDIDATES, verify
from hudkit.compose.nodes import Element

_MAX_REMEMBERED = 1 << 18
"""Elements whose cost is remembered, and parts that were fitted by themselves; beyond, the memory starts anew."""

_MAX_CHANGES = 64
"""Nodes that may differ; with more, a plan made anew is no slower."""

_Change = tuple[Container, int, Element]
"""A container, a position in it, and the element that is there now."""


class Fitter:
    """Fits trees with one `measure`; see `hudkit.compose.fitting` for the rules and `fit` for the arguments.

    `one_by_one` looks at each candidate by itself, so that `FitResult.shortfall` is known. `calls` counts what was
    measured and `steps` the decisions, so that tests can count work.
    """

    def __init__(
        self,
        measure: Measure,
        *,
        bound: Measure | None = None,
        backfill: bool = True,
        grow: Mapping[str, Grow] | None = None,
        exact: int = EXACT_CANDIDATES,
        floor: Measure | None = None,
        one_by_one: bool = False,
    ) -> None:
        self.measure = measure
        self.floor = floor
        self.bound = bound
        self.backfill = backfill
        self.grow = grow or {}
        self.exact = exact
        self.one_by_one = one_by_one
        self.calls = 0
        self.steps = 0
        self._costs: dict[Element, int] = {}
        self._isolated: dict[tuple[Element, int], FitResult] = {}
        self._plan: FitPlan | None = None

    def fit(self, tree: Element, budget: int) -> FitResult:
        """Return the most important part of `tree` within `budget`. Raises `BudgetError` where nothing fits."""
        if self._plan is not None and (plan := _update_plan(self._plan, tree)) is not None:
            return self._select_and_verify(plan, min(budget, tree.get("limit", budget)))
        is_special = bool(traits(tree) & SPECIAL)
        if not is_special and (whole := self._whole_tree(tree, budget)) is not None:
            return whole
        result, self._plan = self._fit(tree, budget, is_special)
        return result

    def fit_with_plan(self, tree: Element, budget: int) -> tuple[FitResult, FitPlan]:
        """Return the fit, and the plan with what is in and what is not (until the next fit)."""
        result, self._plan = self._fit(tree, budget, bool(traits(tree) & SPECIAL))
        return result, self._plan

    def _cost(self, element: Element) -> int:
        """Return `measure` of an element, remembered."""
        cost = self._costs.get(element)
        if cost is None:
            if len(self._costs) >= _MAX_REMEMBERED:
                self._costs.clear()
            self.calls += 1
            cost = self._costs[element] = self.measure(element)
        return cost

    def _whole_tree(self, tree: Element, budget: int) -> FitResult | None:
        """Return the tree as it is, where that can be seen to fit without a plan."""
        children = [child for child in tree.children if isinstance(child, Element)]
        if self.bound is not None and (by_bound := _fits_by_bound(tree, budget, self.bound)) is not None:
            return by_bound
        if self.floor is not None and sum([self.floor(child) for child in children]) > budget:
            return None
        # With a plan at hand the tree was too large the last time: it will be again.
        if self._plan is None and sum([self._cost(child) for child in children]) <= budget:
            tokens = self.measure(tree)
            if tokens <= budget:
                return FitResult(tree, tokens)
        return None

    def _fit(self, tree: Element, budget: int, is_special: bool) -> tuple[FitResult, FitPlan]:
        root = tree if tree.tag not in STRUCTURAL_TAGS else Element("fragment", (), (tree,))
        budget = min(budget, root.get("limit", budget))
        initial_forms: dict[str, Element] = {}
        measures = FitMeasures(
            self._cost, self.measure, self.floor, self._fit_by_itself, budget, self.grow, initial_forms, []
        )
        if is_special:
            root = resolve_shares(root, budget, measures, initial_forms)
        plan = FitPlan(root, measures)
        plan.tree = tree  # errors name the caller's tree, not the one with its shares resolved
        return self._select_and_verify(plan, budget), plan

    def _select_and_verify(self, plan: FitPlan, budget: int) -> FitResult:
        selection = Selection(plan, budget, backfill=self.backfill, one_by_one=self.one_by_one)
        result = verify(selection, trust=self.bound is not None, exact=self.exact)
        self.steps += selection.steps
        return result

    def _fit_by_itself(self, node: Element, limit: int) -> FitResult:
        """Fit a part as a tree of its own, remembered."""
        result = self._isolated.get((node, limit))
        if result is None:
            if len(self._isolated) >= _MAX_REMEMBERED:
                self._isolated.clear()
            result = self._isolated[(node, limit)] = self._fit(node, limit, True)[0]
        return result


def fit(
    tree: Element,
    budget: int,
    measure: Measure,
    *,
    bound: Measure | None = None,
    backfill: bool = True,
    grow: Mapping[str, Grow] | None = None,
    exact: int = EXACT_CANDIDATES,
    floor: Measure | None = None,
) -> FitResult:
    """Return the most important part of `tree` that costs at most `budget` by `measure`.

    With a `bound` (cheap, and never less than `measure`) the caller vouches that the whole costs no more than its
    parts, and measures what it sends: a tree whose bounds fit is not measured, and `tokens` is their sum. Without
    `backfill` nothing is taken behind the first that does not fit. `grow` has a pure function for each `key` whose
    element is made of an offer in tokens. `exact` is the number of candidates up to which a measure that is not the
    sum of its parts is asked about each decision. With a `floor` (cheap, and never more than `measure`) most of what
    cannot fit is not measured. Raises `BudgetError` where the nodes without priority alone cost more; it names the
    node, need and limit.
    """
    if bound is not None and not traits(tree) & SPECIAL:
        by_bound = _fits_by_bound(tree, budget, bound)
        if by_bound is not None:
            return by_bound
    fitter = Fitter(measure, bound=bound, backfill=backfill, grow=grow, exact=exact, floor=floor)
    return fitter.fit(tree, budget)


def _fits_by_bound(tree: Element, budget: int, bound: Measure) -> FitResult | None:
    """Return the tree as it is, where the bounds of its parts fit."""
    most = sum([bound(child) for child in tree.children if isinstance(child, Element)])
    return FitResult(tree, most) if most <= budget else None


# The incremental fit.

_by_rank = attrgetter("rank")


def _update_plan(plan: FitPlan, tree: Element) -> FitPlan | None:
    """Return the plan, changed to fit `tree`; `None` where the trees differ in more than some candidates."""
    if not plan.is_simple or plan.traits & SPECIAL:
        return None
    changes: list[_Change] = []
    containers: list[tuple[Container, Element]] = []
    # Nothing is changed before all is compared: a plan that is half of one tree fits neither.
    if not _collect_changes(plan.root, tree, changes, containers):
        return None
    for container, element in containers:
        container.element = element
    for container, position, child in changes:
        _replace_candidate(plan, container, position, child)
    plan.tree = tree
    return plan


def _collect_changes(
    container: Container, new: Element, changes: list[_Change], containers: list[tuple[Container, Element]]
) -> bool:
    """Note what differs below a container; return false where it is more than candidates."""
    old = container.element
    if old is new:
        return True
    if old.tag != new.tag or old.props != new.props or len(old.children) != len(new.children):
        return False
    if len(container.parts) != len(new.children):
        return False
    containers.append((container, new))
    # By identity, in one pass in C: an item that did not change is the same object, or at least an equal one.
    for position, differs in enumerate(map(is_not, old.children, new.children)):
        if not differs:
            continue
        before, after = old.children[position], new.children[position]
        if before == after:
            continue
        if isinstance(before, str) or isinstance(after, str) or before.tag != after.tag:
            return False
        if len(changes) >= _MAX_CHANGES:
            return False
        part = container.parts[position]
        if isinstance(part, Container) and traits(after) == PRUNABLE:
            if not _collect_changes(part, after, changes, containers):
                return False
        elif type(part) is FitCandidate and not traits(after) and after.get("priority") is not None:
            changes.append((container, position, after))
        else:
            return False
    return True


def _replace_candidate(plan: FitPlan, container: Container, position: int, child: Element) -> None:
    """Put a candidate for `child` where another one was, in its container and in the order of ranks."""
    old = container.parts[position]
    assert isinstance(old, FitCandidate)
    measures = plan.measures
    # The same place in the document, and so the same running number at the end; only the priority may differ.
    rank = (*old.rank[:-2], -float(child.get("priority")), old.rank[-1])
    cost = (measures.floor or measures.measure)(standalone(container.element, child))
    candidate = FitCandidate(child, container, cost, rank)
    candidate.exact_measure = measures.measure if plan.costs_are_bounds else None
    index = bisect_left(plan.ranked, old.rank, key=_by_rank)
    if rank == old.rank:
        plan.ranked[index], plan.costs[index] = candidate, candidate.cost
    else:
        del plan.ranked[index], plan.costs[index]
        insort(plan.ranked, candidate, key=_by_rank)
        plan.costs.insert(bisect_left(plan.ranked, rank, key=_by_rank), candidate.cost)
    container.parts[position] = candidate
    # A plan that can be changed has no other decisions than candidates, so both lists have the same order.
    index = plan.candidates.index(old)
    plan.candidates[index] = plan.decisions[index] = candidate
