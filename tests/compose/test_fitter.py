"""Fitting one tree after the other, with few measures: the same as each by itself, and how much work it is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, Node, h
from hudkit.compose.fitting import FitResult, Fitter, fit
from hudkit.errors import BudgetError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def some(node: Element) -> int:
    """Never more than `words`."""
    return min(2, words(node))


class Counted:
    """A measure that counts its calls, and the nodes that it looks at."""

    def __init__(self) -> None:
        self.calls = 0
        self.nodes = 0

    def __call__(self, element: Element) -> int:
        self.calls += 1
        self.nodes += 1 + len(element.children)
        return words(element)


def either(fitter: Fitter | None, tree: Element, budget: int, floor: bool) -> FitResult | tuple[object, object]:
    try:
        if fitter is not None:
            return fitter.fit(tree, budget)
        return fit(tree, budget, words, floor=some if floor else None)
    except BudgetError as error:
        return error.details["path"], error.details["need"]


leaves = st.builds(
    lambda rank, size: h.text(priority=rank)[" ".join(["w"] * size)],
    st.one_of(st.none(), st.integers(1, 5)),
    st.integers(1, 6),
)
sections = st.builds(
    lambda rank, parts: h.section(title="T", priority=rank)[parts],
    st.one_of(st.none(), st.integers(1, 5)),
    st.lists(leaves, min_size=1, max_size=4),
)
documents = st.builds(lambda parts: h.document[parts], st.lists(st.one_of(leaves, sections), min_size=1, max_size=8))


@pytest.mark.slow
@given(documents, st.data(), st.booleans(), st.sampled_from([0, 64]))
def test_a_fitter_fits_what_fit_does(tree: Element, data: st.DataObject, floor: bool, exact: int) -> None:
    fitter = Fitter(words, floor=some if floor else None, exact=exact)
    for _ in range(4):
        budget = data.draw(st.integers(0, 30))
        expected = either(None, tree, budget, False)
        assert either(fitter, tree, budget, floor) == expected
        assert either(None, tree, budget, True) == expected
        place = data.draw(st.integers(0, len(tree.children) - 1))
        child = tree.children[place]
        assert isinstance(child, Element)
        if child.tag == "section" and data.draw(st.booleans()):
            child = child.with_children((data.draw(leaves), *child.children[1:]))
        else:
            child = data.draw(leaves)
        tree = tree.with_children((*tree.children[:place], child, *tree.children[place + 1 :]))


def chunks(size: int) -> list[Element]:
    draw = random.Random(size)
    ranks = draw.sample(range(size), size)
    return [h.text(priority=rank)[f"{n} " + "w " * draw.randrange(1, 20)] for n, rank in enumerate(ranks)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [100, 1000, 4000])
def test_work_grows_with_the_size_and_not_faster(size: int) -> None:
    measure = Counted()
    fitter = Fitter(measure)
    parts = chunks(size)
    fitter.fit(h.document[parts], 200)
    assert measure.calls <= size + 20 and measure.nodes <= 4 * size
    assert fitter.steps <= 2 * size
    parts[size // 2] = h.text(priority=size * 2)["another"]
    before, calls, steps = measure.nodes, measure.calls, fitter.steps
    found = fitter.fit(h.document[parts], 200)
    assert measure.calls - calls <= 4 and measure.nodes - before <= 200
    assert fitter.steps - steps <= size
    assert found == fit(h.document[parts], 200, words)


@pytest.mark.slow
@pytest.mark.parametrize("size", [256, 1024, 4096])
def test_work_where_the_whole_costs_more_or_less_than_its_parts(size: int) -> None:
    """Whole trees are measured a number of times that grows with the logarithm."""
    for change in (-1, 1):
        wholes = []

        def measure(element: Element, change: int = change, wholes: list[int] = wholes) -> int:
            if element.tag == "document" and len(element.children) > 1:
                wholes.append(len(element.children))
                return max(0, words(element) + change * (len(element.children) - 1) // 4)
            return words(element)

        found = fit(h.document[chunks(size)], 4 * size, measure)
        assert found.tokens <= 4 * size
        assert found.tokens >= 4 * size - 20
        assert len(wholes) <= 2 * size.bit_length() + 4


@pytest.mark.slow
def test_with_a_floor_few_are_measured() -> None:
    measure = Counted()
    parts = chunks(2000)
    found = Fitter(measure, floor=words).fit(h.document[parts], 100)
    assert measure.calls <= 40
    assert found == fit(h.document[parts], 100, words)
    assert found.omitted == fit(h.document[parts], 100, words).omitted
