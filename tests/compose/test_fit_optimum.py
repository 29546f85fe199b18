"""Fitting against brute force: of all that the rules allow, the best by priority and then by document order.

The rules are said here once more, in the simplest way: every state of a small tree is built and measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, Node, h, text_of
from hudkit.compose.fitting import fit
from hudkit.errors import BudgetError

Path = tuple[int, ...]
State = dict[Path, int]  # what may be left out: 0 not in, 1 in; alternatives: 0 none, n the n-th


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def framed(node: Node) -> int:
    """Two for anything at all: the whole costs less than its parts."""
    return words(node) + 2 if words(node) else 0


def distinct(node: Node) -> int:
    """Words that were said before cost nothing."""
    titles = [str(one.get("title", "")) for _, one in node.walk() if isinstance(one, Element)]  # type: ignore[union-attr]
    texts = [one for _, one in node.walk() if isinstance(one, str)]  # type: ignore[union-attr]
    return len(set(" ".join((*titles, *texts)).split()))


def spaced(node: Node) -> int:
    """One more between two texts: the whole costs more than its parts."""
    found = [one for _, one in node.walk() if isinstance(one, str) and one]  # type: ignore[union-attr]
    return words(node) + max(0, len(found) - 1)


SUBADDITIVE: dict[str, Callable[[Node], int]] = {"words": words, "framed": framed}
EVERY = {**SUBADDITIVE, "distinct": distinct, "spaced": spaced}

# -- the rules -----------------------------------------------------------------------------------------------------


def prunable(node: Element) -> bool:
    if node.get("atomic", False):
        return False
    below = [one for one in node.children if isinstance(one, Element)]
    return any(one.tag == "first" or one.get("priority") is not None or prunable(one) for one in below)


class Rules:
    """Of a tree: what may be left out, in order of importance, and what is tied."""

    def __init__(self, tree: Element) -> None:
        self.tree = tree
        self.order = itertools.count()
        self.ranks: list[tuple[tuple[float, ...], Path, int]] = []  # rank, node, the value that it asks for
        self.forced: set[Path] = set()
        self.values: dict[Path, int] = {}
        self.members: dict[str, list[Path]] = {}
        self.tied: dict[str, set[Path]] = {}
        self._walk(tree, (), (), False, float("-inf"), True, ())
        self.ranks.sort()

    def _walk(
        self,
        node: Element,
        path: Path,
        prefix: tuple[float, ...],
        local: bool,
        inherit: float,
        sure: bool,
        ties: tuple[str, ...],
    ) -> None:
        local = {"local": True, "across": False, None: local}[node.get("scope")]
        priority = node.get("priority") if path else None
        if priority is not None:
            sure, inherit = False, -priority
            if local:
                prefix, inherit = (*prefix, -priority, next(self.order)), float("-inf")
        if node.get("keep") is not None and path and not (sure and self._always(node)):
            ties = (*ties, node.get("keep"))
            self.members.setdefault(node.get("keep"), []).append(path)
        for n, child in enumerate(node.children):
            if not isinstance(child, Element):
                continue
            place = (*path, n)
            own = child.get("priority")
            if child.tag == "first":
                self.values[place] = len(child.children)
                base = inherit if own is None else -own
                for k, one in enumerate(child.children, 1):
                    assert isinstance(one, Element)
                    rank = base if one.get("priority") is None else -one.get("priority")
                    if sure and rank == float("-inf"):
                        self.forced.add(place)
                    self.ranks.append(((*prefix, rank, next(self.order)), place, k))
                self._tie(place, ties)
            elif prunable(child):
                self._walk(child, place, prefix, local, inherit, sure, ties)
            elif own is not None:
                self.values[place] = 1
                self.ranks.append(((*prefix, -own, next(self.order)), place, 1))
                mine = [one.get("keep") for _, one in child.walk() if isinstance(one, Element)]
                mine = list(dict.fromkeys(one for one in mine if one is not None))
                for tie in mine:
                    self.members.setdefault(tie, []).append(place)
                self._tie(place, (*ties, *mine))

    def _always(self, node: Element) -> bool:
        """Whether something in an element that stays is there whatever is left out."""
        for child in node.children:
            assert isinstance(child, Element)
            if child.get("priority") is None:
                if child.tag == "first":
                    if any(one.get("priority") is None for one in child.children):  # type: ignore[union-attr]
                        return True
                elif not prunable(child) or self._always(child):
                    return True
        return False

    def _tie(self, place: Path, ties: tuple[str, ...]) -> None:
        for tie in ties:
            self.tied.setdefault(tie, set()).add(place)

    def states(self) -> Iterator[State]:
        places = list(self.values)
        for values in itertools.product(*(range(self.values[one] + 1) for one in places)):
            state = dict(zip(places, values))
            if all(state[one] for one in self.forced) and self._together(state):
                yield state

    def _together(self, state: State) -> bool:
        """Where something of a tie is in, the most important node of each of its members is."""
        for tie, members in self.members.items():
            if any(state[one] for one in self.tied.get(tie, ())):
                for member in members:
                    inside = [rank for rank in self.ranks if rank[1][: len(member)] == member]
                    if inside and not 0 < state[inside[0][1]] <= inside[0][2]:
                        return False
        return True

    def merit(self, state: State) -> tuple[bool, ...]:
        return tuple(0 < state[place] <= value for _, place, value in self.ranks)

    def build(self, state: State, node: Element | None = None, path: Path = (), sure: bool = True) -> Element | None:
        """The tree of a state; `None` for a container that has no reason to be there."""
        node = self.tree if node is None else node
        sure = sure and (not path or node.get("priority") is None)
        children: list[Node] = []
        held = False
        for n, child in enumerate(node.children):
            place = (*path, n)
            if isinstance(child, str):
                children.append(child)
            elif place in state:
                value = state[place]
                held = held or value > 0
                if value and child.tag == "first":
                    children.append(child.children[value - 1])
                elif value:
                    children.append(child)
            elif prunable(child):
                inner = self.build(state, child, place, sure)
                if inner is not None:
                    children.append(inner)
                    held = held or any(state[one] for one in state if one[: len(place)] == place)
            else:
                children.append(child)
        return node.with_children(tuple(children)) if sure or held else None


def within_limits(tree: Element, measure: Callable[[Node], int]) -> bool:
    return all(
        node.get("limit") is None or measure(node) <= node.get("limit")
        for _, node in tree.walk()
        if isinstance(node, Element)
    )


def optimum(tree: Element, budget: int, measure: Callable[[Node], int]) -> Element | None:
    rules = Rules(tree)
    best: tuple[tuple[bool, ...], Element] | None = None
    for state in rules.states():
        built = rules.build(state)
        assert built is not None
        if measure(built) <= budget and within_limits(built, measure):
            merit = rules.merit(state)
            if best is None or merit > best[0]:
                best = (merit, built)
    return best[1] if best else None


# -- random trees --------------------------------------------------------------------------------------------------

ranks = st.one_of(st.none(), st.integers(1, 4))


@st.composite
def trees(draw: st.DrawFn, *, ties: bool = True, options: bool = True, limits: bool = True) -> Element:
    names = (f"u{n}" for n in itertools.count())
    budget = [6]  # of nodes that may be left out: each doubles the states

    def leaf(rank: float | None) -> Element:
        budget[0] -= rank is not None
        keep = draw(st.sampled_from([None, None, "k1", "k2"])) if ties and rank is not None else None
        return h.text(priority=rank, keep=keep)[" ".join([next(names), *["w"] * draw(st.integers(0, 3))])]

    def part(depth: int) -> Element:
        kinds = ["leaf"] * 3 + (["section"] * 3 if depth else []) + (["first"] if options else []) + ["atomic"]
        kind = draw(st.sampled_from(kinds))
        if kind == "first" and budget[0] > 1:
            budget[0] -= 2
            sizes = draw(st.sampled_from([(4, 2), (5, 3, 1), (3, 1)]))
            own = draw(st.booleans())
            levels = [h.text(priority=draw(ranks) if own else None)[" ".join([next(names)] * size)] for size in sizes]
            return h.first(priority=draw(ranks))[levels]
        if kind == "atomic":
            inner = [h.text(priority=draw(ranks))[next(names)] for _ in range(2)]
            rank = draw(ranks)
            budget[0] -= rank is not None
            return h.section(atomic=True, priority=rank)[inner]
        if kind == "section":
            limit = draw(st.one_of(st.none(), st.integers(2, 9))) if limits else None
            keep = draw(st.sampled_from([None, None, None, "k1", "k2"])) if ties else None
            scope = draw(st.sampled_from([None, "local", "across"]))
            title = draw(st.sampled_from(["T", ""]))
            inner = [part(depth - 1) for _ in range(draw(st.integers(1, 3)))]
            return h.section(title=title, priority=draw(ranks), scope=scope, limit=limit, keep=keep)[inner]
        return leaf(draw(ranks) if budget[0] > 0 else None)

    return h.document(scope=draw(st.sampled_from([None, "local"])))[(part(2) for _ in range(draw(st.integers(1, 4))))]


def fitted(tree: Element, budget: int, measure: Callable[[Node], int]) -> Element | None:
    try:
        found = fit(tree, budget, measure)
    except BudgetError as error:
        assert error.details["tree"] is tree and error.details["need"] > error.details["limit"]  # type: ignore[operator]
        return None
    assert found.tokens == measure(found.tree) <= budget
    assert fit(tree, budget, measure) == found
    return found.tree


# -- properties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", SUBADDITIVE.values(), ids=SUBADDITIVE)
@given(tree=trees(), budget=st.integers(0, 25))
@pytest.mark.slow
def test_the_fit_is_the_optimum(measure: Callable[[Node], int], tree: Element, budget: int) -> None:
    assert fitted(tree, budget, measure) == optimum(tree, budget, measure)


@pytest.mark.slow
@given(tree=trees(options=False), budget=st.integers(0, 12))
def test_the_fit_is_the_optimum_where_words_are_shared(tree: Element, budget: int) -> None:
    assert fitted(tree, budget, distinct) == optimum(tree, budget, distinct)


@pytest.mark.slow
@given(tree=trees(ties=False, options=False, limits=False), budget=st.integers(0, 25))
def test_the_fit_is_the_optimum_where_the_whole_costs_more(tree: Element, budget: int) -> None:
    assert fitted(tree, budget, spaced) == optimum(tree, budget, spaced)


@pytest.mark.slow
@pytest.mark.parametrize("measure", EVERY.values(), ids=EVERY)
@given(tree=trees(), budget=st.integers(0, 25), exact=st.sampled_from([0, 64]))
def test_never_over_a_budget_or_a_limit(
    measure: Callable[[Node], int], tree: Element, budget: int, exact: int
) -> None:
    try:
        found = fit(tree, budget, measure, exact=exact)
    except BudgetError:
        return
    assert found.tokens == measure(found.tree) <= budget
    assert within_limits(found.tree, measure)
    assert text_of(found.tree).count("first") == 0
