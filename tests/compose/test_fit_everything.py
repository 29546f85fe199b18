"""Trees that use every rule at once: never over, the same each time, and nothing structural left."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, Node, h
from hudkit.compose.fitting import fit, trace
from hudkit.errors import BudgetError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def framed(node: Node) -> int:
    return words(node) + 2 if words(node) else 0


def spaced(node: Node) -> int:
    found = [one for _, one in node.walk() if isinstance(one, str) and one]  # type: ignore[union-attr]
    return words(node) + max(0, len(found) - 1)


MEASURES: dict[str, Callable[[Node], int]] = {"words": words, "framed": framed, "spaced": spaced}

ranks = st.one_of(st.none(), st.integers(1, 4))
sizes = st.integers(0, 6)
texts = sizes.map(lambda size: " ".join(["w"] * size))


def at_least_one(size: int) -> int:
    return max(1, size)


lines = st.builds(lambda rank, text: h.text(priority=rank)[text], ranks, texts)
long = st.builds(
    lambda rank, where, limit: h.text(priority=rank, truncate=where, limit=limit, marker=" ... ")["a b c d e f g h"],
    ranks,
    st.sampled_from(["start", "middle", "end"]),
    st.one_of(st.none(), st.integers(3, 6)),  # a marker has to have room in it, by every measure
)
grown = st.builds(
    lambda grow, reserve, limit: h.text(grow=grow, reserve=reserve, limit=limit, truncate="end")["g g g g g g g g"],
    st.integers(1, 2),
    st.one_of(st.none(), st.integers(0, 4), st.just("/4")),
    st.one_of(st.none(), st.integers(3, 5)),
)
small = st.one_of(
    lines,
    long,
    grown,
    st.builds(lambda tokens, rank: h.reserve(tokens=tokens, priority=rank)[()], st.integers(0, 4), ranks),
    st.builds(lambda: h.break_[()]),
)


def containers(inner: st.SearchStrategy[Element]) -> st.SearchStrategy[Element]:
    parts = st.lists(inner, max_size=4)
    return st.one_of(
        st.builds(
            lambda rank, scope, limit, keep, atomic, ones: h.section(
                title="T", priority=rank, scope=scope, limit=limit, keep=keep, atomic=atomic
            )[ones],
            ranks,
            st.sampled_from([None, "local", "across"]),
            st.one_of(st.none(), st.integers(1, 12)),
            st.sampled_from([None, None, "k", "l"]),
            st.sampled_from([None, None, None, True]),
            parts,
        ),
        st.builds(lambda rank, ones: h.first(priority=rank)[ones], ranks, parts),
        st.builds(lambda rank, ones, last: h.default(priority=rank)[ones, last], ranks, parts, lines),
        st.builds(
            lambda rank, step, ones: h.section(priority=rank, step=step)[ones], ranks, st.integers(1, 5), parts
        ),
        st.builds(
            lambda rank, limit, ones: h.section(priority=rank, limit=limit, isolate=True)[ones],
            ranks,
            st.integers(2, 9),
            parts,
        ),
    )


trees = st.lists(st.recursive(small, containers, max_leaves=8), max_size=5).map(lambda ones: h.document[ones])


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(tree=trees, budget=st.integers(0, 40), exact=st.sampled_from([0, 64]), backfill=st.booleans())
def test_never_over(measure: Callable[[Node], int], tree: Element, budget: int, exact: int, backfill: bool) -> None:
    try:
        found = fit(tree, budget, measure, exact=exact, backfill=backfill)
    except BudgetError as error:
        assert error.details["need"] > error.details["limit"]  # type: ignore[operator]
        return
    assert found.tokens == measure(found.tree)
    assert found.tokens + found.reserved <= budget
    assert fit(tree, budget, measure, exact=exact, backfill=backfill) == found
    for _, node in found.tree.walk():
        if isinstance(node, Element):
            assert node.tag not in ("first", "choice", "default", "reserve", "break")
            assert node.get("limit") is None or measure(node) <= node.get("limit")


@pytest.mark.slow
@given(tree=trees, budget=st.integers(0, 40))
def test_a_trace_tells_the_same_fit(tree: Element, budget: int) -> None:
    try:
        found = fit(tree, budget, words)
    except BudgetError:
        return
    explained = trace(tree, budget, words)
    assert explained.result.tree == found.tree and explained.text()
    assert explained.at(budget).entries == explained.entries
