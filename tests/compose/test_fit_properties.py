"""Fitting as properties: the budget, the objective against brute force, markers, numbers and omissions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, Node, h, text_of
from hudkit.compose.fitting import FitResult, fit
from hudkit.errors import BudgetError
from hudkit.hud.frame import MeasuredRenderer
from hudkit.tokens import shared_counter

Measure = Callable[[Element], int]
TYPESET = MeasuredRenderer(shared_counter())


def words(node: Node) -> int:
    """An additive measure: words of text and titles; a marker that says something is three."""
    if isinstance(node, str):
        return len(node.split())
    own = len(str(node.get("title", "")).split())
    if node.tag == "more":
        own += 3 if node.get("hidden", 0) > 0 else 0
    return own + sum(words(child) for child in node.children)


MEASURES: dict[str, Measure] = {"words": words, "tokens": TYPESET.measure}

# -- the rules, said once more in the simplest way -----------------------------------------------------------------


def holds_units(node: Element) -> bool:
    """Whether something below may be left out by itself."""
    if node.get("atomic", False):
        return False
    below = [child for child in node.children if isinstance(child, Element)]
    return any(child.get("priority") is not None or holds_units(child) for child in below)


def units(node: Element) -> Iterator[Element]:
    """What stays or goes whole, in document order."""
    for child in node.children:
        if not isinstance(child, Element) or child.tag == "more":
            continue
        if holds_units(child):
            yield from units(child)
        elif child.get("priority") is not None:
            yield child


def containers(node: Element) -> Iterator[Element]:
    """The element and every element below that holds units."""
    yield node
    for child in node.children:
        if isinstance(child, Element) and holds_units(child):
            yield from containers(child)


def without(node: Element, kept: frozenset[str], required: bool = True) -> Element | None:
    """The tree with the units of these names only; `None` where a container has no reason to be there."""
    children: list[Node] = []
    held = False
    for child in node.children:
        if isinstance(child, str):
            children.append(child)
        elif holds_units(child):
            inner = without(child, kept, required and child.get("priority") is None)
            if inner is not None:
                children.append(inner)
                held = held or not kept.isdisjoint(map(name, units(child)))
        elif child.get("priority") is None:
            children.append(child)
        elif name(child) in kept:
            children.append(child)
            held = True
    return node.with_children(tuple(children)) if required or held else None


def name(unit: Element) -> str:
    """The first word of a unit, which no other unit has."""
    return text_of(unit).split()[0]


def greedy(tree: Element, budget: int, measure: Measure) -> frozenset[str]:
    """Brute force: each unit in order of importance stays if the whole, built and measured, is within the budget."""
    kept: frozenset[str] = frozenset()
    for unit in sorted(units(tree), key=lambda one: -one.get("priority")):
        tried = kept | {name(unit)}
        whole = without(tree, tried)
        assert whole is not None
        if measure(whole) <= budget:
            kept = tried
    return kept


# -- random trees --------------------------------------------------------------------------------------------------

ranks = st.one_of(st.none(), st.integers(1, 4), st.sampled_from([1.5, 2.25]))


class Names:
    """Texts and keys that no other node of the tree has."""

    def __init__(self) -> None:
        self.count = itertools.count(1)

    def text(self, length: int) -> str:
        number = next(self.count)
        return " ".join([f"u{number}", *["word"] * (length - 1)])

    def key(self) -> str:
        return f"k{next(self.count)}"


@st.composite
def trees(draw: st.DrawFn, *, markers: bool = False, ordered: bool = False) -> Element:
    names = Names()
    nodes = [draw(st.sampled_from(("text", "section", "section", "atomic"))) for _ in range(draw(st.integers(1, 4)))]
    parts = [_part(draw, names, kind, 2, markers, ordered) for kind in nodes]
    if markers and draw(st.booleans()):
        parts.append(h.more(hidden=draw(st.integers(0, 2)), noun="not shown")[()])
    return h.document(key="root")[parts]


def _part(draw: st.DrawFn, names: Names, kind: str, depth: int, markers: bool, ordered: bool) -> Element:
    if kind == "text":
        return h.text(priority=draw(ranks))[names.text(draw(st.integers(1, 5)))]
    if kind == "atomic":
        inner = [_part(draw, names, "text", 0, False, False) for _ in range(draw(st.integers(1, 2)))]
        return h.section(title="whole", atomic=True, priority=draw(ranks))[inner]
    kinds = ["text", "list", *(["section"] if depth else [])]
    parts: list[Element] = []
    for inner_kind in draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)):
        if inner_kind == "list":
            parts.append(_list(draw, names, markers, ordered and draw(st.booleans())))
        else:
            parts.append(_part(draw, names, inner_kind, depth - 1, markers, ordered))
    if markers and draw(st.booleans()):
        parts.append(h.more(hidden=draw(st.integers(0, 3)), noun="older", see="notes.list")[()])
    title = draw(st.sampled_from(["One", "Two words"]))
    return h.section(title=title, key=names.key(), priority=draw(ranks))[parts]


def _list(draw: st.DrawFn, names: Names, markers: bool, ordered: bool) -> Element:
    rank = st.integers(1, 4) if ordered else ranks
    items = [h.item(priority=draw(rank))[names.text(draw(st.integers(1, 5)))] for _ in range(draw(st.integers(1, 5)))]
    if ordered:
        return h.list(ordered=True, start=draw(st.integers(1, 3)), key=names.key())[items]
    marker = [h.more(hidden=draw(st.integers(0, 3)), noun="older")[()]] if markers and draw(st.booleans()) else []
    return h.list(key=names.key())[items, marker]


anything = trees(markers=True, ordered=True)
budgets = st.integers(0, 80)


def fitted(tree: Element, budget: int, measure: Measure) -> FitResult | None:
    """What fits; where nothing does, the error must say why."""
    try:
        return fit(tree, budget, measure)
    except BudgetError as error:
        details = error.details
        assert details["limit"] == budget and details["need"] > budget  # type: ignore[operator]
        assert details["tree"] is tree
        assert str(details["path"]).startswith("/") and str(details["path"]) in str(error)
        return None


# -- properties ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(tree=anything, budget=budgets)
def test_never_over_budget(measure: Measure, tree: Element, budget: int) -> None:
    found = fitted(tree, budget, measure)
    if found is None:
        bare = without(tree, frozenset())
        assert bare is not None
        assert measure(_unmarked(bare)) > budget or any(node.tag == "more" for _, node in elements(tree))
    else:
        assert measure(found.tree) == found.tokens <= budget
        assert fit(tree, budget, measure) == found


@pytest.mark.slow
@given(trees(), budgets)
def test_an_error_is_raised_exactly_where_the_required_part_is_over(tree: Element, budget: int) -> None:
    bare = without(tree, frozenset())
    assert bare is not None
    if words(bare) <= budget:
        assert fit(tree, budget, words).tokens <= budget
    else:
        with pytest.raises(BudgetError) as caught:
            fit(tree, budget, words)
        assert caught.value.details["need"] == words(bare)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(tree=anything)
def test_everything_is_kept_when_the_budget_allows(measure: Measure, tree: Element) -> None:
    parts = sum(measure(child) for child in tree.children if isinstance(child, Element))
    found = fit(tree, max(parts, measure(tree)), measure)
    assert found.tree is tree and found.omitted == ()


@pytest.mark.slow
@given(tree=anything, slack=st.integers(0, 5))
def test_with_a_bound_nothing_is_measured_that_fits(tree: Element, slack: int) -> None:
    most = sum(TYPESET.bound(child) for child in tree.children if isinstance(child, Element))
    found = fit(tree, most + slack, TYPESET.measure, bound=TYPESET.bound)
    assert found == FitResult(tree, most)


@pytest.mark.slow
@given(trees(), budgets)
def test_what_is_kept_is_the_greedy_choice(tree: Element, budget: int) -> None:
    found = fitted(tree, budget, words)
    if found is not None:
        expected = greedy(tree, budget, words)
        assert frozenset(map(name, units(found.tree))) == expected
        assert found.tree == without(tree, expected)


@pytest.mark.slow
@given(trees(), budgets)
def test_a_larger_budget_is_never_worse(tree: Element, budget: int) -> None:
    less, more = fitted(tree, budget, words), fitted(tree, budget + 1, words)
    if less is not None:
        assert more is not None
        ranked = [name(unit) for unit in sorted(units(tree), key=lambda one: -one.get("priority"))]
        kept = [{name(unit) for unit in units(one.tree)} for one in (less, more)]
        assert [one in kept[0] for one in ranked] <= [one in kept[1] for one in ranked]


@given(anything, budgets)
def test_omissions_are_complete(tree: Element, budget: int) -> None:
    found = fitted(tree, budget, words)
    if found is None:
        return
    kept = {name(unit) for unit in units(found.tree)}
    lost = [one.text.split()[0] for one in found.omitted]
    every = list(units(tree))
    assert [name(unit) for unit in every if name(unit) not in kept] == lost
    assert kept.isdisjoint(lost) and len(kept) + len(lost) == len(every)
    cost = {name(unit): words(unit) for unit in every}
    for one in found.omitted:
        assert one.tokens == cost[one.text.split()[0]]
        assert one.path.startswith("/") and str(budget) in one.reason


@pytest.mark.slow
@given(anything, budgets)
def test_what_stays_is_as_it_was_and_in_its_order(tree: Element, budget: int) -> None:
    found = fitted(tree, budget, words)
    if found is not None:
        order = {name(unit): n for n, unit in enumerate(units(tree))}
        places = [order[name(unit)] for unit in units(found.tree)]
        assert places == sorted(places)
        whole = {name(unit): unit for unit in units(tree)}
        assert all(whole[name(unit)] == unit for unit in units(found.tree))


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(tree=anything, budget=budgets)
def test_markers_count_what_is_left_out_below(measure: Measure, tree: Element, budget: int) -> None:
    found = fitted(tree, budget, measure)
    if found is None:
        return
    kept = {name(unit) for unit in units(found.tree)}
    there = {node.get("key"): node for _, node in elements(found.tree) if node.get("key") is not None}
    for box in containers(tree):
        if marker(box) is not None and box.get("key") in there:
            shown = marker(there[box.get("key")])
            assert shown is not None
            assert shown.get("hidden", 0) == marker(box).get("hidden", 0) + unsaid(box, kept, set(there))  # type: ignore[union-attr]


def unsaid(box: Element, kept: set[str], there: set[object]) -> int:
    """Units left out below, but for those of which a marker further down speaks."""
    count = 0
    for child in box.children:
        if not isinstance(child, Element) or child.tag == "more":
            continue
        if holds_units(child):
            spoken = child.get("key") in there and marker(child) is not None
            count += 0 if spoken else unsaid(child, kept, there)
        elif child.get("priority") is not None:
            count += name(child) not in kept
    return count


def marker(box: Element) -> Element | None:
    found = [child for child in box.children if isinstance(child, Element) and child.tag == "more"]
    return found[0] if found else None


def elements(tree: Element) -> Iterator[tuple[tuple[int, ...], Element]]:
    return ((path, node) for path, node in tree.walk() if isinstance(node, Element))


def _unmarked(tree: Element) -> Element:
    children = [
        child if isinstance(child, str) else _unmarked(child)
        for child in tree.children
        if isinstance(child, str) or child.tag != "more"
    ]
    return tree.with_children(tuple(children))


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(tree=anything, budget=budgets)
def test_numbers_are_the_items_own(measure: Measure, tree: Element, budget: int) -> None:
    found = fitted(tree, budget, measure)
    if found is None:
        return
    there = {node.get("key"): node for _, node in elements(found.tree) if node.tag == "list"}
    for _, node in elements(tree):
        shown = there.get(node.get("key"))
        if node.tag == "list" and node.get("ordered") and shown is not None and shown.children:
            numbers = {child: n for n, child in enumerate(node.children, int(node.get("start")))}
            seen = [numbers[child] for child in shown.children]
            first = int(shown.get("start"))
            assert seen == list(range(first, first + len(seen)))


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 12), st.integers(2, 4))
def test_one_element_in_several_places(size: int, rank: int, budget: int, times: int) -> None:
    """The same object is as many nodes as it has places; each is kept or left out for itself."""
    item = h.item(priority=rank)[" ".join(["w"] * size)]
    section = h.section(title="T", priority=1)[h.list[[item] * times]]
    tree = h.document[section, h.text(priority=5)["first"], section]
    found = fit(tree, budget, words)
    kept = list(units(found.tree))
    assert found.tokens == words(found.tree) <= budget
    assert len(kept) + len(found.omitted) == 2 * times + 1
    if budget >= words(tree):
        assert found.tree == tree
    if 1 <= budget < 1 + 1 + size:
        assert [text_of(one) for one in kept] == ["first"]
