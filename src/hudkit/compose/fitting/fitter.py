"""Fit trees one after the other: plan, select, verify on the final bytes; costs and plans are kept for the next tree.

**Verification.** A selection adds up the costs of parts, but the whole is rarely their sum: a separator is shared, a
heading goes up a level, a tokenizer merges words across a border. So the final tree is measured, and what differs is
mended:
- a small plan (`exact` candidates or fewer) is decided anew, each decision on the final bytes;
- of a larger one, what the final bytes leave room for is filled in a few rounds;
- where the final bytes are over, the least important candidate goes, in the container that is over, until they agree.
  How many have to go is found by bisection, because each try writes and measures the whole tree.

With `trust` the caller vouches that the whole costs no more than its parts, and only the last step is left as a
check.

An example, one token a character and a comma between two texts: the budget is 8, and a, b and c have 3 characters
each. The parts add up to 6 for a and b; the whole "aaa,bbb" costs 7, which is within the budget, and c would make it
11. With a budget of 6 the parts fit and the whole does not: b goes, and "aaa" is what is sent.

**The next tree.** Most trees of a session are the tree before with a few items changed. Elements are shared between
them, so the trees are compared by identity, and only below what differs. Where all that differs are candidates that
stay or go whole, each is replaced in the plan: one in its container, one in the order of ranks, one in the list of
costs. Everything else of the plan stays, and the result is that of a new plan.

An example: a list of 1,000 items, and one that changes from "colour" to "colours". 999 items are the same objects.
The plan gets one new candidate at the same rank with its own cost, measured once, and the selection runs again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from functools import partial
from itertools import zip_longest
from operator import attrgetter, is_not

from hudkit.compose.fitting.atomic import FitMeasures
from hudkit.compose.fitting.candidates import (
    AlternativeGroup,
    Container,
    FallbackCandidate,
    FitCandidate,
    FlexibleCandidate,
    alternative_name,
    is_inside,
    make_omission,
)
from hudkit.compose.fitting.growth import grow_remaining, resolve_shares
from hudkit.compose.fitting.plan import FitPlan
from hudkit.compose.fitting.result import FitResult, Grow, Measure, Omission
from hudkit.compose.fitting.selection import Measurement, Selection, Undo, measure_selection, reserved_tokens
from hudkit.compose.fitting.traits import PRUNABLE, SPECIAL, STRUCTURAL_TAGS, standalone, traits
from hudkit.compose.nodes import Element, text_of
from hudkit.errors import BudgetError

EXACT_CANDIDATES = 64
"""Up to so many candidates, a measure that is not the sum of the parts is asked about every decision.

Each decision writes and measures the whole tree, so the work grows with the square of their number.
"""


def _verify(selection: Selection, *, trust: bool, exact: int = EXACT_CANDIDATES) -> FitResult:
    """Make a selection, verify it, and return the fit.

    With `trust` the caller vouches that the whole costs no more than its parts. Raises `BudgetError` where what is
    required alone is over the budget, or over a limit.
    """
    plan = selection.plan
    over_limit = any(container.initial_used > container.limit for container in plan.limited if container.limit)
    if plan.required_cost > selection.budget or over_limit:
        # The sum says that nothing fits. Unless the sum is to be trusted, the final bytes have the last word.
        selection.reset()
        measurement = measure_selection(selection)
        if trust or measurement.exceeded is not None:
            raise _too_small_error(selection, measurement, plan.required_cost)
        selection.used = measurement.tokens
        selection.select_more(measurement.tokens)
    else:
        selection.select()
    measurement = measure_selection(selection)
    if not trust and len(plan.ranked) <= exact and _can_be_exact(plan):
        # Where everything is in and fits, there is nothing to decide better.
        if measurement.exceeded is not None or not all(candidate.present for candidate in plan.ranked):
            measurement = _decide_on_final_bytes(selection)
    elif not trust:
        measurement = _fill_what_is_left(selection, measurement)
    measurement = _drop_until_it_fits(selection, measurement)
    if plan.growing:
        measurement = grow_remaining(selection, measurement)
    return _fit_result(selection, measurement)


def _can_be_exact(plan: FitPlan) -> bool:
    # A numbered list can lose items after a decision, and a flexible node changes its form with each: neither can be
    # decided one candidate at a time.
    return not plan.ordered and not any(isinstance(candidate, FlexibleCandidate) for candidate in plan.candidates)


def _decide_on_final_bytes(selection: Selection) -> Measurement:
    """Decide on every candidate by the final bytes; return the measurement of the result."""
    plan = selection.plan
    selection.reset()
    best = measure_selection(selection)
    if best.exceeded is not None:
        return best
    stop_reason = ""
    for candidate in plan.ranked:
        undo: list[Undo] = []
        together = plan.ties.closure(candidate) if candidate.ties else (candidate,)
        if stop_reason or not all(selection.put_in(member, undo, check=False) for member in together):
            candidate.reason = stop_reason or candidate.reason
            selection.take_back(undo)
            continue
        measurement = measure_selection(selection) if undo else best
        if measurement.exceeded is None:
            best = measurement
            selection.selected += [step[0] for step in undo]
            continue
        selection.take_back(undo)
        exceeded = measurement.exceeded
        if exceeded is plan.root:
            selection.note_shortfall(measurement.excess)
        else:
            name = exceeded.path or "/"
            candidate.reason = f"costs {candidate.cost} tokens, and {name} has a limit of {exceeded.limit}"
        if not selection.backfill:
            stop_reason = f"stands behind {candidate.label}, which does not fit into {selection.budget}"
    selection.used = best.tokens
    return measure_selection(selection)


def _fill_what_is_left(selection: Selection, measurement: Measurement) -> Measurement:
    """Fill the room that the final bytes leave; return the measurement of the result."""
    # Each round writes and measures the whole tree, and what it frees is soon too little for anything.
    rounds = max(2, len(selection.plan.ranked).bit_length())
    for _ in range(rounds):
        no_room = measurement.exceeded is not None or measurement.tokens >= selection.used
        if no_room or not selection.backfill:
            break
        before = list(selection.selected)
        if not selection.select_more(measurement.tokens):
            break
        attempt = measure_selection(selection)
        if attempt.exceeded is not None:
            selection.restrict_to(before)
            return measure_selection(selection)
        measurement = attempt
    return measurement


def _drop_until_it_fits(selection: Selection, measurement: Measurement) -> Measurement:
    """Drop the least important candidates where it is over, until the final bytes agree; return the measurement.

    Raises `BudgetError` where it is over with nothing but what is required.
    """
    while measurement.exceeded is not None:
        region = measurement.exceeded
        ranked = sorted(selection.selected, key=lambda candidate: candidate.rank)
        inside = [candidate for candidate in ranked if candidate.selected and is_inside(candidate, region)]
        if not inside:
            raise _too_small_error(selection, measurement, measurement.tokens)
        outside = [candidate for candidate in ranked if not is_inside(candidate, region)]
        fits, too_many = 0, len(inside)  # of `inside`, so many of the first
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            attempt = _restrict_and_measure(selection, outside, inside[:middle])
            if attempt.exceeded is region:
                too_many = middle
            else:
                fits = middle
        measurement = _restrict_and_measure(selection, outside, inside[:fits])
        if measurement.exceeded is region and fits == 0:
            raise _too_small_error(selection, measurement, measurement.tokens)
    return measurement


def _restrict_and_measure(
    selection: Selection, outside: list[FitCandidate], inside: list[FitCandidate]
) -> Measurement:
    selection.restrict_to(sorted([*outside, *inside], key=lambda candidate: candidate.rank))
    return measure_selection(selection)


def _fit_result(selection: Selection, measurement: Measurement) -> FitResult:
    plan, budget = selection.plan, selection.budget
    reserved = reserved_tokens(selection)
    if plan.is_all_whole and selection.backfill and not plan.measures.isolates:
        # The plan and its candidates live on in the fitter: what is said later must not depend on their state then.
        missing = [candidate for candidate in plan.candidates if not candidate.selected]
        reasons = [] if plan.is_simple else [candidate.reason for candidate in missing]
        return FitResult(
            measurement.tree,
            measurement.size,
            describe=partial(_describe_omissions, missing, reasons, budget),
            reserved=reserved,
            breaks=measurement.breaks,
            shortfall=selection.shortfall,
        )
    decisions = [decision for decision in plan.decisions if not isinstance(decision, FallbackCandidate)]
    omitted: list[Omission] = []
    picks: list[tuple[str, str]] = []
    for decision in decisions:
        omitted += decision.omissions(budget)
        if isinstance(decision, AlternativeGroup) and decision.current is not None:
            picks.append((decision.label, alternative_name(decision.current)))
    for path, isolate in plan.measures.isolates:
        for omission in isolate.omitted:
            omitted.append(Omission(path + omission.path, omission.text, omission.tokens, omission.reason))
    return FitResult(
        measurement.tree,
        measurement.size,
        omitted,
        reserved=reserved,
        breaks=measurement.breaks,
        picks=tuple(picks),
        shortfall=selection.shortfall,
    )


def _describe_omissions(candidates: list[FitCandidate], reasons: list[str], budget: int) -> tuple[Omission, ...]:
    """Return the omissions of nodes that stay or go whole; `reasons` is empty where all have the usual one."""
    return tuple(
        make_omission(candidate.label, text_of(candidate.element), candidate.exact_cost(), reason, budget)
        for candidate, reason in zip_longest(candidates, reasons, fillvalue="")
        if isinstance(candidate, FitCandidate)
    )


def _too_small_error(selection: Selection, measurement: Measurement, need: int) -> BudgetError:
    """Return the error for what must stay and is more than the budget, or than a limit."""
    plan = selection.plan
    container = measurement.exceeded
    if container is not None and container is not plan.root and container.limit is not None:
        need = container.limit + measurement.excess
        return BudgetError(
            f"what must be shown of {container.path} needs {need} tokens and its limit is {container.limit}",
            hint=f"Give it a limit of at least {need}, or give nodes in it a priority so that they may be left out",
            path=container.path,
            need=need,
            limit=container.limit,
            tree=plan.tree,
        )
    path, cost = plan.largest
    return BudgetError(
        f"what must be shown needs {need} tokens and the budget is {selection.budget}; "
        f"most of it is {path or '/'} ({cost})",
        hint=f"Give a budget of at least {need}, or give the node a priority so that it may be left out",
        path=path or "/",
        need=need,
        limit=selection.budget,
        tree=plan.tree,
    )


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
        result = _verify(selection, trust=self.bound is not None, exact=self.exact)
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
