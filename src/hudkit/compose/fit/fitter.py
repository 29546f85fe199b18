"""Fit trees one after the other: costs and plans are kept, so that a tree of which one node changed is quick."""

from __future__ import annotations

from collections.abc import Mapping

from hudkit.compose.fit.again import updated
from hudkit.compose.fit.choose import Choice
from hudkit.compose.fit.flex import sized
from hudkit.compose.fit.plan import Plan
from hudkit.compose.fit.result import Fitted, Grow, Measure
from hudkit.compose.fit.settle import EXACT, settle
from hudkit.compose.fit.traits import SPECIAL, STRUCTURAL, traits
from hudkit.compose.fit.whole import Kit
from hudkit.compose.nodes import Element

COSTS = 1 << 18
"""Elements whose cost is remembered; beyond, the memory starts anew."""


class Fitter:
    """Fits trees with one `measure`; see `hudkit.compose.fit` for the rules and `fit` for the arguments.

    `exact` is the number of nodes up to which a measure that is not the sum of its parts is asked about each
    decision. `slow` looks at each node by itself, so that `Fitted.short` is known.
    """

    def __init__(
        self,
        measure: Measure,
        *,
        bound: Measure | None = None,
        backfill: bool = True,
        grow: Mapping[str, Grow] | None = None,
        exact: int = EXACT,
        floor: Measure | None = None,
        slow: bool = False,
    ) -> None:
        self.measure = measure
        self.floor = floor
        self.bound = bound
        self.backfill = backfill
        self.grow = grow or {}
        self.exact = exact
        self.slow = slow
        self.calls = 0
        self.steps = 0
        self._costs: dict[Element, int] = {}
        self._alone: dict[tuple[Element, int], Fitted] = {}
        self._plan: Plan | None = None

    def fit(self, tree: Element, budget: int) -> Fitted:
        """The most important part of `tree` within `budget`. Raises `BudgetError` where nothing fits."""
        if self._plan is not None and (plan := updated(self._plan, tree)) is not None:
            return self._settled(plan, min(budget, tree.get("limit", budget)))
        special = bool(traits(tree) & SPECIAL)
        if not special and (whole := self._everything(tree, budget)) is not None:
            return whole
        fitted, self._plan = self._fit(tree, budget, special)
        return fitted

    def planned(self, tree: Element, budget: int) -> tuple[Fitted, Plan]:
        """The fit, and the plan with what is in and what is not (until the next fit)."""
        fitted, self._plan = self._fit(tree, budget, bool(traits(tree) & SPECIAL))
        return fitted, self._plan

    def cost(self, element: Element) -> int:
        """`measure`, remembered."""
        found = self._costs.get(element)
        if found is None:
            if len(self._costs) >= COSTS:
                self._costs.clear()
            self.calls += 1
            found = self._costs[element] = self.measure(element)
        return found

    def _everything(self, tree: Element, budget: int) -> Fitted | None:
        """The tree as it is, where that is known to fit."""
        children = [child for child in tree.children if isinstance(child, Element)]
        if self.bound is not None and (known := _bounded(tree, budget, self.bound)) is not None:
            return known
        if self.floor is not None and sum([self.floor(child) for child in children]) > budget:
            return None
        if self._plan is None and sum([self.cost(child) for child in children]) <= budget:
            tokens = self.measure(tree)
            if tokens <= budget:
                return Fitted(tree, tokens)
        return None

    def _fit(self, tree: Element, budget: int, special: bool) -> tuple[Fitted, Plan]:
        root = tree if tree.tag not in STRUCTURAL else Element("fragment", (), (tree,))
        budget = min(budget, root.get("limit", budget))
        first: dict[str, Element] = {}
        kit = Kit(self.cost, self.measure, self.floor, self._by_itself, budget, self.grow, first, [])
        plan = Plan(sized(root, budget, kit, first) if special else root, kit)
        plan.tree = tree
        return self._settled(plan, budget), plan

    def _settled(self, plan: Plan, budget: int) -> Fitted:
        choice = Choice(plan, budget, backfill=self.backfill, slow=self.slow)
        fitted = settle(choice, trust=self.bound is not None, exact=self.exact)
        self.steps += choice.steps
        return fitted

    def _by_itself(self, node: Element, limit: int) -> Fitted:
        """A part as a tree of its own."""
        known = self._alone.get((node, limit))
        if known is None:
            if len(self._alone) >= COSTS:
                self._alone.clear()
            known = self._alone[(node, limit)] = self._fit(node, limit, True)[0]
        return known


def _bounded(tree: Element, budget: int, bound: Measure) -> Fitted | None:
    """The tree as it is, where the bounds of its parts fit."""
    most = sum([bound(child) for child in tree.children if isinstance(child, Element)])
    return Fitted(tree, most) if most <= budget else None


def fit(
    tree: Element,
    budget: int,
    measure: Measure,
    *,
    bound: Measure | None = None,
    backfill: bool = True,
    grow: Mapping[str, Grow] | None = None,
    exact: int = EXACT,
    floor: Measure | None = None,
) -> Fitted:
    """The most important part of `tree` that costs at most `budget` by `measure`.

    With a `bound` (cheap, and never less than `measure`) the caller vouches that the whole costs no more than its
    parts, and measures what it sends: a tree whose bounds fit is not measured, and `tokens` is their sum. Without
    `backfill` nothing is taken behind the first that does not fit. `grow` has a pure function for each `key` whose
    element is made of an offer in tokens. With a
    `floor` (cheap, and never more than `measure`) most of what cannot fit is not measured.
    Raises `BudgetError` where the nodes without priority alone cost more; it names the node, need and limit.
    """
    if bound is not None and (known := _bounded(tree, budget, bound)) is not None and not traits(tree) & SPECIAL:
        return known
    return Fitter(measure, bound=bound, backfill=backfill, grow=grow, exact=exact, floor=floor).fit(tree, budget)
