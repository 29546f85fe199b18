"""Fitting as tables: what is left of a tree at each budget. The rule is one order of importance for the whole tree,
ties in document order, and what still fits behind something that does not is taken."""

from __future__ import annotations

import pytest

from hudkit.compose import Element, Node, h, text_of
from hudkit.compose.fitting import fit
from hudkit.errors import BudgetError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def leaf(name: str, size: int, priority: float | None = None) -> Element:
    return h.text(priority=priority)[" ".join([name] * size)]


def group(priority: float | None, *parts: Element, atomic: bool = False) -> Element:
    return h.section(priority=priority, atomic=atomic)[parts]


TREES: dict[str, tuple[Element, dict[int, str]]] = {
    "A1 siblings": (
        h.document[leaf("a", 2, 1), leaf("b", 2, 2), leaf("c", 2, 3)],
        {6: "a b c", 5: "b c", 4: "b c", 3: "c", 2: "c", 1: "", 0: ""},
    ),
    "A1 with back-fill: what fits behind what does not is taken": (
        h.document[leaf("a", 1, 1), leaf("b", 3, 2), leaf("c", 2, 3)],
        {6: "a b c", 5: "b c", 4: "a c", 3: "a c", 2: "c", 1: "a"},
    ),
    "A2 a base and three": (
        h.document[leaf("base", 4), leaf("a", 3, 10), leaf("b", 3, 20), leaf("c", 3, 30)],
        {13: "base a b c", 12: "base b c", 10: "base b c", 9: "base c", 7: "base c", 6: "base", 4: "base"},
    ),
    "A3 priorities are of the whole tree": (
        h.document[
            group(1, leaf("A", 1, 100), leaf("B", 1, 0)),
            group(2, leaf("C", 1, 200), leaf("D", 1, 20)),
        ],
        {4: "A B C D", 3: "A C D", 2: "A C", 1: "C"},
    ),
    "A6 an atomic group goes whole": (
        h.document[group(1, leaf("a", 1, 1), leaf("b", 1, 2), atomic=True), leaf("c", 1, 3)],
        {3: "a b c", 2: "c", 1: "c", 0: ""},
    ),
    "A12 the order across groups": (
        h.document[
            group(None, leaf("A1", 1, 50), leaf("A2", 1, 200)),
            group(None, leaf("B1", 1, 0), leaf("B2", 1, 100)),
        ],
        {4: "A1 A2 B1 B2", 3: "A1 A2 B2", 2: "A2 B2", 1: "A2"},
    ),
    "ties go in document order": (
        h.document[leaf("a", 1, 7), leaf("b", 1, 7), leaf("c", 1, 7)],
        {3: "a b c", 2: "a b", 1: "a", 0: ""},
    ),
    "a heading is there with the first of its items, and paid for": (
        h.document[h.section(title="Two words", priority=9)[h.list[h.item(priority=9)["x"]]], leaf("y", 1, 1)],
        {4: "x y", 3: "x", 2: "y", 1: "y", 0: ""},
    ),
    "a node without priority stays while its parent does": (
        h.document[h.section(title="S", priority=5)[h.text["always"], leaf("z", 1, 1)], leaf("y", 1, 3)],
        {4: "always z y", 3: "y", 2: "y"},
    ),
}  # fmt: skip
CASES = [(name, budget) for name, (_, table) in TREES.items() for budget in table]


def leaves(tree: Element) -> str:
    """The first word of every leaf that is there."""
    found = [node for _, node in tree.walk() if isinstance(node, str)]
    return " ".join(text.split()[0] for text in found)


@pytest.mark.parametrize(("name", "budget"), CASES, ids=[f"{name}: {budget}" for name, budget in CASES])
def test_case(name: str, budget: int) -> None:
    tree, table = TREES[name]
    found = fit(tree, budget, words)
    assert leaves(found.tree) == table[budget]
    assert found.tokens == words(found.tree)


def test_a2_what_must_be_shown_does_not_fit() -> None:
    tree, _ = TREES["A2 a base and three"]
    with pytest.raises(BudgetError, match="needs 4 tokens and the budget is 3") as caught:
        fit(tree, 3, words)
    details = caught.value.details
    assert (details["path"], details["need"], details["limit"], details["tree"]) == ("/text", 4, 3, tree)


@pytest.mark.parametrize(
    ("tree", "path", "need"),
    [
        (h.document[h.text(key="short")["a"], h.text(key="long")["a b c"], leaf("x", 1, 1)], "/long", 4),
        (h.document[h.section(title="S")[h.text["a b c"], leaf("x", 1, 1)], h.text["a b"]], "/S/text", 6),
        (h.document[h.section(title="S", key="s")[h.text["a b c"]]], "/s", 4),
    ],
)
def test_an_error_names_the_dearest_of_what_must_stay(tree: Element, path: str, need: int) -> None:
    with pytest.raises(BudgetError) as caught:
        fit(tree, 2, words)
    assert (caught.value.details["path"], caught.value.details["need"]) == (path, need)
    assert "priority" in caught.value.hint


STEPS = h.list(ordered=True, start=4)[(h.item(priority=p)[f"{n} {n}"] for n, p in enumerate((1, 5, 4, 3)))]


def test_a_gap_ends_a_numbered_list() -> None:
    items = [h.item(priority=p)[text] for p, text in ((9, "a"), (8, "b b b b"), (7, "c"), (6, "d"))]
    found = fit(h.document[h.list(ordered=True)[items]], 3, words)
    assert leaves(found.tree) == "a" and [one.text[0] for one in found.omitted] == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("budget", "start", "shown"),
    [(8, 4, "0 1 2 3"), (7, 5, "1 2 3"), (6, 5, "1 2 3"), (4, 5, "1 2"), (3, 5, "1"), (2, 5, "1")],
)
def test_a_numbered_list_begins_with_the_number_of_its_first_item(budget: int, start: int, shown: str) -> None:
    found = fit(h.document[STEPS], budget, words).tree.children[0]
    assert isinstance(found, Element)
    assert (found.get("start"), leaves(found)) == (start, shown)


def test_the_reserve_for_a_marker_is_given_back_when_all_is_in() -> None:
    def dear(node: Node) -> int:
        if not isinstance(node, str) and node.tag == "more":
            return 5 if node.get("hidden", 0) else 0
        return len(node.split()) if isinstance(node, str) else sum(map(dear, node.children))

    items = [h.item(priority=n)[f"i{n}"] for n in (3, 2, 1)]
    tree = h.document[h.list[items, h.more(noun="older")[()]]]
    assert fit(tree, 3, dear).tree == tree
    beside = h.document[*tree.children, h.text(priority=0)["z z z z z z"]]
    assert leaves(fit(beside, 7, dear).tree) == "i3 i2 i1"
    partly = fit(h.document[h.list[items, h.item(priority=9)["a b c d e f"], h.more[()]]], 8, dear)
    assert leaves(partly.tree) == "i3 i2 i1"
    assert partly.tokens == 8 and [one.text for one in partly.omitted] == ["a b c d e f"]


def test_a_measure_that_adds_up_to_more_still_decides() -> None:
    """Two parts that cost one more beside each other: the least important goes."""

    def joined(node: Node) -> int:
        if isinstance(node, str):
            return len(node.split())
        return sum(map(joined, node.children)) + max(0, len(node.children) - 1)

    tree = h.document[leaf("a", 2, 1), leaf("b", 2, 3), leaf("c", 2, 2)]
    found = fit(tree, 7, joined)
    assert leaves(found.tree) == "b c" and found.tokens == 5
    assert [text_of(h.text[one.text]) for one in found.omitted] == ["a a"]
