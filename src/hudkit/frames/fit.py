"""Fit a tree to a token budget: what is kept is never over it, what is left out is returned.

The objective is lexicographic: the node of the highest priority first, ties in document order; a node that does not
fit is passed over and what still fits behind it is taken. Rules:

- a node without `priority` stays as long as its parent does; with one it may be left out;
- a container that holds such nodes is there when one of them is, and costs what it costs without them;
- an `atomic` node, and one that holds no node with a priority, stays or goes whole;
- `more` says how many nodes are left out in its container that no `more` below speaks for (nothing while none is);
  its cost is held back until all of them are in;
- in an ordered list what is shown is one run, and its first number is the item's own;
- `measure` is asked for the final tree once more, and the least important node goes until it agrees.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import msgspec

from hudkit.document.nodes import Element, Node, text_of
from hudkit.errors import BudgetError

Measure = Callable[[Element], int]
"""Tokens of an element as it will be written."""


class Omission(msgspec.Struct, frozen=True):
    """Something that was left out: where, what (its text), its tokens, and why."""

    path: str
    text: str
    tokens: int
    reason: str


class Fitted(msgspec.Struct, frozen=True):
    """A tree within its budget, its exact tokens, and what it leaves out, in document order."""

    tree: Element
    tokens: int
    omitted: tuple[Omission, ...] = ()


def fit(tree: Element, budget: int, measure: Measure, *, bound: Measure | None = None) -> Fitted:
    """The most important part of `tree` that costs at most `budget` by `measure`.

    With a `bound` (cheap, and never less than `measure`) the caller vouches that the whole costs no more than its
    parts, and measures what it sends: a tree whose bounds fit is not measured, and `tokens` is their sum.
    Raises `BudgetError` where the nodes without priority alone cost more; it names the node, need and limit.
    """
    children = [child for child in tree.children if isinstance(child, Element)]
    if bound is not None:
        most = sum([bound(child) for child in children])
        if most <= budget:
            return Fitted(tree, most)
    if sum([measure(child) for child in children]) <= budget:
        tokens = measure(tree)
        if tokens <= budget:
            return Fitted(tree, tokens)
    plan = _Plan(tree, measure)
    if plan.required > budget:
        raise _too_small(plan, budget)
    plan.choose(budget)
    while True:
        kept = plan.root.build()
        tokens = measure(kept)
        if tokens <= budget:
            return Fitted(kept, tokens, plan.omitted(budget))
        if not plan.give_up_one():
            raise _too_small(plan, budget, tokens)


@lru_cache(maxsize=16384)
def _alone(parent: Element, child: Element) -> Element:
    """A child as the only one of its container where it cannot stand bare, and as it is elsewhere."""
    return Element(parent.tag, parent.props, (child,)) if parent.tag in ("list", "table") else child


@lru_cache(maxsize=16384)
def _prunable(node: Element) -> bool:
    """Whether some node below has a priority."""
    if node.get("atomic", False):
        return False
    return any(
        isinstance(child, Element) and (child.get("priority") is not None or _prunable(child))
        for child in node.children
    )


class _Box:
    """A container of nodes that may be left out: its parts in order, and what it costs to be there.

    `cost` has the marker in it where one is sure to be needed; `reserve` is held back for it until every node below
    is in. `left` counts the nodes below that are not in, `taken` the parts that are.
    """

    __slots__ = ("cost", "element", "left", "more", "name", "parent", "parts", "required", "reserve", "taken")

    def __init__(self, element: Element, parent: _Box | None, name: str) -> None:
        self.element = element
        self.parent = parent
        self.name = name
        self.required: bool = parent is None or (parent.required and element.get("priority") is None)
        self.parts: list[_Box | _Unit | Element | str] = []
        self.cost = 0
        self.more: Element | None = None
        self.reserve = 0
        self.left = 0
        self.taken = 0

    @property
    def open(self) -> bool:
        return self.required or self.taken > 0

    @property
    def ordered(self) -> bool:
        return bool(self.element.get("ordered", False))

    def unsaid(self) -> int:
        """The nodes below that are left out and that no marker below speaks for."""
        count = 0
        for part in self.parts:
            if isinstance(part, _Unit):
                count += not part.taken
            elif isinstance(part, _Box):
                count += 0 if part.open and part.more is not None else part.unsaid()
        return count

    def build(self) -> Element:
        """The container with what is in."""
        children: list[Node] = []
        skipped = 0
        for part in self.parts:
            if isinstance(part, _Box):
                if part.open:
                    children.append(part.build())
            elif isinstance(part, _Unit):
                if part.taken:
                    children.append(part.element)
                elif not children:
                    skipped += 1
            elif part is self.more:
                children.append(part.with_props(hidden=int(part.get("hidden", 0)) + self.unsaid()))
            else:
                children.append(part)
        element = self.element
        if skipped and self.ordered:
            element = element.with_props(start=int(element.get("start", 1)) + skipped)
        return element.with_children(tuple(children))


class _Unit:
    """A node that stays or goes whole."""

    __slots__ = ("box", "cost", "element", "order", "priority", "taken")

    def __init__(self, element: Element, box: _Box, cost: int, order: int) -> None:
        self.element = element
        self.box = box
        self.cost = cost
        self.order = order
        self.priority = float(element.get("priority", 0))
        self.taken = False


class _Plan:
    """What is required, and the nodes that may be left out in order of importance."""

    def __init__(self, tree: Element, measure: Measure) -> None:
        self.tree = tree
        self.measure = measure
        self.all: list[_Unit] = []
        self.boxes: list[_Box] = []
        self.dearest = ("", 0)
        self.root, self.required = self._collect(tree, None, "")
        self.spent = self.required
        self.ranked = sorted(self.all, key=lambda unit: (-unit.priority, unit.order))

    def _collect(self, node: Element, parent: _Box | None, name: str) -> tuple[_Box, int]:
        """The box of a container, and the cost of what is required at and below it."""
        box = _Box(node, parent, name)
        self.boxes.append(box)
        bare = tuple([child for child in node.children if isinstance(child, str)])
        box.cost = self.measure(node.with_children(bare))
        below = 0
        for child in node.children:
            if isinstance(child, str):
                box.parts.append(child)
                continue
            label = f"{name}/{child.get('key') or child.get('title') or child.tag}"
            if child.tag == "more":
                box.more = child
                box.parts.append(child)
            elif _prunable(child):
                inner, required = self._collect(child, box, label)
                box.parts.append(inner)
                box.left += inner.left
                below += required
            elif child.get("priority") is not None:
                unit = _Unit(child, box, self.measure(_alone(node, child)), len(self.all))
                self.all.append(unit)
                box.parts.append(unit)
                box.left += 1
            else:
                cost = self.measure(_alone(node, child))
                box.cost += cost
                box.parts.append(child)
                if box.required and cost > self.dearest[1]:
                    self.dearest = (label, cost)
        if box.more is not None:
            hidden = int(box.more.get("hidden", 0))
            cost = self.measure(_alone(node, box.more.with_props(hidden=hidden + box.left)))
            box.reserve = 0 if hidden else cost
            box.cost += cost
        return box, (box.cost if box.required else 0) + below

    def choose(self, budget: int) -> None:
        """Take nodes in order of importance while they fit, then fill what was held back for markers."""
        left = [unit for unit in self.ranked if not self._take(unit, budget)]
        while left:
            again = [unit for unit in left if not self._take(unit, budget)]
            if len(again) == len(left):
                break
            left = again
        for box in self.boxes:
            if box.ordered:
                self._close_gaps(box)

    def _take(self, unit: _Unit, budget: int) -> bool:
        cost = unit.cost
        box: _Box | None = unit.box
        while box is not None:
            if not box.open:
                cost += box.cost
            if box.left == 1:
                cost -= box.reserve
            box = box.parent
        if self.spent + cost > budget:
            return False
        self.spent += cost
        self._mark(unit, True)
        return True

    @staticmethod
    def _mark(unit: _Unit, taken: bool) -> None:
        """Note that a node is in, or not, in every box above it."""
        unit.taken = taken
        box: _Box | None = unit.box
        counts = True
        while box is not None:
            box.left += -1 if taken else 1
            if counts:
                box.taken += 1 if taken else -1
                counts = box.taken == (1 if taken else 0)
            box = box.parent

    def _close_gaps(self, box: _Box) -> None:
        """In a numbered list what is shown is one run round its most important item, so that its numbers are the
        items' own."""
        run: list[_Unit] = []
        runs: list[list[_Unit]] = [run]
        held: list[_Unit] | None = None
        for part in box.parts:
            if isinstance(part, _Unit) and part.taken:
                run.append(part)
            elif isinstance(part, _Unit):
                run = []
                runs.append(run)
            elif part is not box.more:
                held = run  # a required item: its run is the one that stays
        best = (
            held
            if held is not None
            else max(runs, key=lambda one: max((unit.priority for unit in one), default=-1e9))
        )
        for one in runs:
            if one is not best:
                for unit in one:
                    self._mark(unit, False)

    def give_up_one(self) -> bool:
        """Leave out the least important node that is in; false where there is none."""
        for unit in reversed(self.ranked):
            if unit.taken:
                self._mark(unit, False)
                if unit.box.ordered:
                    self._close_gaps(unit.box)
                return True
        return False

    def omitted(self, budget: int) -> tuple[Omission, ...]:
        """What is not in, in document order."""
        return tuple(
            Omission(
                f"{unit.box.name}/{unit.element.get('key') or unit.element.tag}",
                text_of(unit.element),
                unit.cost,
                f"costs {unit.cost} tokens, and more important nodes left less of the budget of {budget}",
            )
            for unit in self.all
            if not unit.taken
        )


def _weight(run: list[_Unit]) -> float:
    return max((unit.priority for unit in run), default=float("-inf"))


def _too_small(plan: _Plan, budget: int, need: int | None = None) -> BudgetError:
    need = plan.required if need is None else need
    path, cost = plan.dearest
    return BudgetError(
        f"what must be shown needs {need} tokens and the budget is {budget}; most of it is {path or '/'} ({cost})",
        hint=f"Give a budget of at least {need}, or give the node a priority so that it may be left out",
        path=path or "/",
        need=need,
        limit=budget,
        tree=plan.tree,
    )
