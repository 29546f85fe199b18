"""The portable cases of composition, part B: sharing a budget. An element prints the budget that it was offered."""

from __future__ import annotations

import pytest

from hudkit.compose import Element, Node, h
from hudkit.compose.fitting import fit
from hudkit.compose.fitting.growth import FlexClaim, share_budget
from hudkit.errors import BudgetError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return sum(words(child) for child in node.children)


class Offers:
    """Elements that note their offers, and then use a number of tokens."""

    def __init__(self, **uses: int) -> None:
        self.uses = uses
        self.seen: dict[str, list[int]] = {name: [] for name in uses}

    def grow(self) -> dict[str, object]:
        return {name: self._make(name) for name in self.uses}

    def _make(self, name: str) -> object:
        def make(offer: int) -> Element:
            self.seen[name].append(offer)
            return h.text[" ".join([name] * min(offer, self.uses[name]))]

        return make

    def last(self) -> dict[str, int]:
        return {name: seen[-1] for name, seen in self.seen.items()}


def slot(name: str, **props: object) -> Element:
    return h.text(key=name, **{"basis": 1, **props})[()]  # type: ignore[arg-type]


B6 = [
    slot("c1"),
    slot("c2", basis=2),
    slot("g2a", grow=2, reserve=20),
    slot("g1a", grow=1, reserve=10),
    slot("g1b", grow=1, reserve=10, basis=2),
    slot("g2b", grow=2, reserve=20),
]
CASES: dict[str, tuple[list[Element], dict[str, int], dict[str, int]]] = {
    "B1": ([slot("c"), slot("g", grow=1)], {"c": 10, "g": 0}, {"c": 100, "g": 90}),
    "B2": ([slot("c"), slot("g", grow=1, reserve=20)], {"c": 10, "g": 0}, {"c": 80, "g": 90}),
    "B3": (
        [slot("c"), slot("g", grow=1, reserve="/4"), slot("k", grow=1, reserve="/4")],
        {"c": 10, "g": 0, "k": 0},
        {"c": 50, "g": 45, "k": 45},
    ),
    "B4": (
        [slot("a"), slot("b"), slot("c"), slot("g3", grow=3), slot("g2", grow=2)],
        {"a": 5, "b": 10, "c": 5, "g3": 79, "g2": 1},
        {"a": 33, "b": 33, "c": 33, "g3": 80, "g2": 1},
    ),
    "B5": ([slot("a"), slot("b", basis=2)], {"a": 1, "b": 1}, {"a": 33, "b": 66}),
    "B6": (
        B6,
        {"c1": 10, "c2": 20, "g2a": 15, "g1a": 0, "g1b": 0, "g2b": 20},
        {"c1": 13, "c2": 26, "g2a": 25, "g1a": 11, "g1b": 23, "g2b": 25},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_offers(name: str) -> None:
    parts, uses, offered = CASES[name]
    offers = Offers(**uses)
    found = fit(h.document[parts], 100, words, grow=offers.grow())  # type: ignore[arg-type]
    assert offers.last() == offered
    assert found.tokens == words(found.tree) == sum(min(uses[one], offered[one]) for one in uses)


def test_b7_what_a_capped_share_leaves_goes_to_the_others() -> None:
    claims = [FlexClaim(), FlexClaim(), FlexClaim(cap=100), FlexClaim(cap=10000)]
    assert share_budget(8185, claims) == [2695, 2695, 100, 2695]
    offers = Offers(p=1, q=1, c=1, d=1)
    tree = h.document[slot("p"), slot("q"), slot("c", limit=100), slot("d", limit=10000)]
    fit(tree, 8185, words, grow=offers.grow())  # type: ignore[arg-type]
    assert offers.last() == {"p": 2695, "q": 2695, "c": 100, "d": 2695}


def test_b8_what_expands_is_offered_what_is_left_once_more() -> None:
    offers = Offers(e=1000)
    tree = h.document[slot("e", expand=True), h.text["smaller"]]
    found = fit(tree, 10, words, grow=offers.grow())  # type: ignore[arg-type]
    assert offers.seen["e"] == [5, 9]
    assert found.tokens == words(found.tree) == 10


def test_b8_with_a_long_text_and_with_many_items() -> None:
    text = h.document[h.text(expand=True, truncate="end", marker="")[" ".join(["w"] * 500)], h.text["smaller"]]
    assert fit(text, 10, words).tokens == 10
    items = [h.item(priority=n)[f"i{n}"] for n in range(50)]
    found = fit(h.document[h.list(grow=1)[items], h.text["smaller"], h.text(priority=1)["other"]], 10, words)
    assert found.tokens == 10
    assert [node for _, node in found.tree.walk() if isinstance(node, str)][-2:] == ["smaller", "other"]


def test_what_grows_comes_after_all_that_has_a_priority() -> None:
    tree = h.document[h.text(grow=1, truncate="end", marker="")["w w w w w w w w"], h.text(priority=1)["a b c"]]
    assert fit(tree, 5, words).tree.children[1] == tree.children[1]
    assert fit(tree, 5, words).tokens == 5
    held = h.document[h.text(grow=1, reserve=3, truncate="end", marker="")["w w w w w w w w"], *tree.children[1:]]
    assert words(fit(held, 5, words).tree.children[0]) == 5  # type: ignore[arg-type]


def test_one_that_takes_more_than_it_was_offered_is_left_out() -> None:
    def greedy(offer: int) -> Element:
        return h.text[" ".join(["w"] * (offer + 1))]

    tree = h.document[h.text(key="g", grow=1)[()], h.text["a"]]
    found = fit(tree, 5, words, grow={"g": greedy})
    assert found.tokens == 1
    assert found.omitted[0].path == "/g" and "was offered 4 tokens and costs 5" in found.omitted[0].reason


def test_shares_of_nothing() -> None:
    assert share_budget(0, [FlexClaim(), FlexClaim()]) == [0, 0]
    assert share_budget(-5, [FlexClaim()]) == [0]
    assert share_budget(10, []) == []
    assert share_budget(10, [FlexClaim(cap=3), FlexClaim(cap=3), FlexClaim(cap=3)]) == [3, 3, 3]
    with pytest.raises(BudgetError):
        fit(h.document[h.text["a b c"], h.text(grow=1, reserve=5)[()]], 7, words)
