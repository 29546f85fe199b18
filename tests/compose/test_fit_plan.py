"""The portable cases of composition, part A: priorities, ties, reserves, alternatives. One token per word."""

from __future__ import annotations

import pytest

from hudkit.compose import Element, Node, h
from hudkit.compose.fitting import fit
from hudkit.errors import BudgetError, TreeError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def leaf(name: str, size: int = 1, priority: float | None = None, **props: object) -> Element:
    return h.text(priority=priority, **props)[" ".join([name] * size)]  # type: ignore[arg-type]


def group(priority: float | None, *parts: Element, **props: object) -> Element:
    return h.section(priority=priority, **props)[parts]  # type: ignore[arg-type]


def shown(tree: Element) -> str:
    """The words that are there, each run of the same word once."""
    found = " ".join(node for _, node in tree.walk() if isinstance(node, str)).split()
    return " ".join(word for n, word in enumerate(found) if n == 0 or word != found[n - 1])


SCOPED = [group(1, leaf("A", 1, 100), leaf("B", 1, 0)), group(2, leaf("C", 1, 200), leaf("D", 1, 20))]
GROUPS = [group(1, leaf("A1", 1, 50), leaf("A2", 1, 200)), group(2, leaf("B1", 1, 0), leaf("B2", 1, 100))]
TIED = [
    group(1, leaf("a", 1, 1), leaf("b", 1, 2), keep="k1"),
    group(2, h.text["c"], keep="k1"),
    group(3, h.text["d"], keep="k1"),
]
CASCADE = [
    group(1, leaf("a", 1, 1), leaf("b", 1, 2), keep="k1"),
    group(2, leaf("c#", keep="k2"), h.text["c"], keep="k1"),
    group(3, h.text["d"], keep="k1"),
    leaf("e", 1, 4, keep="k2"),
    leaf("f", 1, 5, keep="k3"),
]
LONG = h.first[leaf("long", 9, 10), leaf("short", 3, 20), leaf("omit", 1, 30)]

TREES: dict[str, tuple[Element, dict[int, str]]] = {
    "A1 siblings": (
        h.document[leaf("a", 2, 1), leaf("b", 2, 2), leaf("c", 2, 3)],
        {6: "a b c", 5: "b c", 4: "b c", 3: "c", 2: "c", 1: ""},
    ),
    "A2 a base without priority": (
        h.document[leaf("base", 4), leaf("a", 3, 10), leaf("b", 3, 20), leaf("c", 3, 30)],
        {13: "base a b c", 12: "base b c", 10: "base b c", 7: "base c", 6: "base", 4: "base"},
    ),
    "A3 in local scopes the container's priority counts first": (
        h.document(scope="local")[SCOPED],
        {4: "A B C D", 3: "A C D", 2: "C D", 1: "C"},
    ),
    "A3 across, as by default": (h.document[SCOPED], {4: "A B C D", 3: "A C D", 2: "A C", 1: "C"}),
    "A4 containers without priority compare what is in them": (
        h.document(scope="local")[group(None, *SCOPED[0].children), group(None, *SCOPED[1].children)],  # type: ignore[arg-type]
        {4: "A B C D", 3: "A C D", 2: "A C", 1: "C"},
    ),
    "A5 a transparent wrapper": (
        h.document(scope="local")[h.fragment[leaf("A", 1, 1), leaf("B", 1, 3)], leaf("C", 1, 2)],
        {3: "A B C", 2: "B C", 1: "B"},
    ),
    "A6 an atomic group": (
        h.document[group(1, leaf("a", 1, 1), leaf("b", 1, 2), atomic=True), leaf("c", 1, 3)],
        {3: "a b c", 2: "c", 1: "c"},
    ),
    "A7 tied elements are there together": (
        h.document(scope="local")[TIED],
        {4: "a b c d", 3: "b c d", 2: "", 1: "", 0: ""},
    ),
    "A8 a cascade of ties": (
        h.document(scope="local")[CASCADE],
        {7: "a b c# c d e f", 6: "b c# c d e f", 5: "f", 2: "f", 1: "f", 0: ""},
    ),
    "A10 the first that fits": (
        h.document[leaf("q", 2), LONG],
        {11: "q long", 10: "q short", 5: "q short", 4: "q omit", 3: "q omit", 2: "q"},
    ),
    "A10 without priorities, the last is there in any case": (
        h.document[leaf("q", 2), h.first[leaf("long", 9), leaf("short", 3)], leaf("z", 1, 1)],
        {12: "q long z", 11: "q long", 10: "q short z", 6: "q short z", 5: "q short"},
    ),
    "A10 one priority for all: the first that fits at its turn": (
        h.document[leaf("b", 2, 9), h.first(priority=5)[leaf("long", 9), leaf("short", 3)], leaf("z", 4, 1)],
        {15: "b long z", 11: "b long", 10: "b short z", 6: "b short", 4: "b", 3: "b"},
    ),
    "A12 local": (
        h.document[h.section(scope="local")[GROUPS]],
        {4: "A1 A2 B1 B2", 3: "A2 B1 B2", 2: "B1 B2", 1: "B2"},
    ),
    "A12 across": (
        h.document[GROUPS],
        {4: "A1 A2 B1 B2", 3: "A1 A2 B2", 2: "A2 B2", 1: "A2"},
    ),
    "one scope within the other order": (
        h.document[group(3, leaf("A", 1, 1), leaf("B", 1, 9), scope="local"), leaf("C", 1, 4), leaf("D", 1, 2)],
        {4: "A B C D", 3: "A B C", 2: "B C", 1: "C"},
    ),
    "back to across within a local scope": (
        h.document(scope="local")[
            group(1, leaf("A", 1, 5), scope="across"), group(2, leaf("B", 1, 1), scope="across")
        ],
        {2: "A B", 1: "A"},
    ),
    "a default, empty": (
        h.document[leaf("q", 1), h.default[leaf("x", 3, 5), leaf("none", 1)], leaf("z", 2, 1)],
        {6: "q x z", 5: "q x", 4: "q x", 3: "q none", 2: "q none"},
    ),
    "a default with nothing to say": (h.document[h.default[h.list[()], h.text["none"]]], {9: "none", 1: "none"}),
    "a default of several": (
        h.document[h.default[h.list[h.item(priority=2)["a a"], h.item(priority=1)["b"]], h.text["none"]]],
        {3: "a b", 2: "a", 1: "b", },
    ),
    "a fallback may have a priority": (
        h.document[h.default[leaf("x", 3, 5), leaf("none", 1, 2)], leaf("y", 1, 3)],
        {4: "x y", 3: "x", 2: "none y", 1: "y", 0: ""},
    ),
    "the priority of a default is that of what is in it": (
        h.document[h.default(priority=1)[leaf("x", 3), leaf("none", 1)], leaf("keep", 1, 5)],
        {4: "x keep", 3: "none keep", 2: "none keep", 1: "keep", 0: ""},
    ),
    "a priority within a default is its own": (
        h.document[h.default(priority=1)[leaf("x", 3, 9), leaf("none", 1)], leaf("keep", 1, 5)],
        {4: "x keep", 3: "x", 2: "none keep", 1: "keep"},
    ),
    "a limit within": (
        h.document[group(None, leaf("a", 2, 9), leaf("b", 2, 8), leaf("c", 1, 7), limit=3), leaf("d", 2, 1)],
        {9: "a c d", 5: "a c d", 4: "a c", 3: "a c", 2: "a"},
    ),
    "limits in limits": (
        h.document[
            group(None, group(None, leaf("a", 2, 9), leaf("b", 2, 8), limit=2), leaf("c", 2, 7), leaf("e", 1, 1),
                  limit=4)
        ],
        {9: "a c", 3: "a e", 2: "a"},
    ),
    "a choice of densities": (
        h.document[
            h.choice(priority=9)[leaf("F", 5, density="full"), leaf("C", 2, density="compact")],
            h.choice(priority=8)[leaf("G", 5, density="full"), leaf("D", 2, density="compact"),
                                 leaf("M", density="minimal")],
        ],
        {10: "F G", 9: "F D", 7: "F D", 6: "F M", 5: "F", 4: "C D", 3: "C M", 2: "C", 1: "M"},
    ),
    "densities by their own priorities: all compact before one is full": (
        h.document[
            h.choice[leaf("F", 5, 3, density="full"), leaf("C", 2, 9, density="compact")],
            h.choice[leaf("G", 5, 2, density="full"), leaf("D", 2, 8, density="compact")],
        ],
        {10: "F G", 9: "F D", 7: "F D", 6: "C D", 4: "C D", 3: "C", 2: "C"},
    ),
}  # fmt: skip
CASES = [(name, budget) for name, (_, table) in TREES.items() for budget in table]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "budget"), CASES, ids=[f"{name}: {budget}" for name, budget in CASES])
def test_case(name: str, budget: int) -> None:
    tree, table = TREES[name]
    found = fit(tree, budget, words)
    assert shown(found.tree) == table[budget]
    assert found.tokens == words(found.tree) <= budget
    tags = {node.tag for _, node in found.tree.walk() if isinstance(node, Element)}
    assert not tags & {"first", "choice", "default", "reserve", "break"}


@pytest.mark.parametrize(
    ("budget", "text", "used"), [(10, "q h", 5), (9, "q", 2), (7, "q", 2)]
)  # fmt: skip
def test_a9_a_reserve_is_held_back(budget: int, text: str, used: int) -> None:
    tree = h.document[leaf("q", 2), h.reserve(tokens=5)[()], leaf("h", 3, 1)]
    found = fit(tree, budget, words)
    assert (shown(found.tree), found.tokens, found.reserved) == (text, used, 5)


def test_a9_a_reserve_that_does_not_fit() -> None:
    tree = h.document[leaf("q", 2), h.reserve(tokens=5)[()], leaf("h", 3, 1)]
    with pytest.raises(BudgetError, match="needs 7 tokens and the budget is 6") as caught:
        fit(tree, 6, words)
    assert caught.value.details["tree"] is tree


def test_a_reserve_may_be_a_share_and_may_be_left_out() -> None:
    quarter = h.document[h.reserve(tokens="/4")[()], leaf("a", 3, 2), leaf("b", 3, 1)]
    assert (fit(quarter, 8, words).reserved, shown(fit(quarter, 8, words).tree)) == (2, "a b")
    assert (fit(quarter, 7, words).reserved, shown(fit(quarter, 7, words).tree)) == (1, "a b")
    assert (fit(quarter, 6, words).reserved, shown(fit(quarter, 6, words).tree)) == (1, "a")
    soft = h.document[leaf("a", 3, 2), h.reserve(tokens=4, priority=1)[()]]
    assert [(f.tokens, f.reserved) for f in (fit(soft, 7, words), fit(soft, 6, words))] == [(3, 4), (3, 0)]


@pytest.mark.parametrize(("budget", "items", "total"), [(40, 10, 28), (20, 6, 20), (12, 2, 12), (9, 0, 8)])
def test_a11_an_isolate_has_the_same_bytes_at_every_budget(budget: int, items: int, total: int) -> None:
    inner = [leaf(f"i{n}", 2, 10 - n) for n in range(10)]
    outer = [leaf(f"h{n}", 2, n) for n in range(10)]
    found = fit(h.document[leaf("s", 2), group(None, *inner, isolate=True, limit=6), outer], budget, words)
    assert shown(found.tree).startswith("s i0 i1 i2") and "i3" not in shown(found.tree)
    assert shown(found.tree).count("h") == items
    assert found.tokens == total
    assert len(found.omitted) == 7 + 10 - items
    assert sum("budget of 6" in one.reason for one in found.omitted) == 7


def test_without_backfill_nothing_is_taken_behind_the_first_that_does_not_fit() -> None:
    tree = h.document[leaf("a", 1, 1), leaf("b", 3, 2), leaf("c", 2, 3)]
    for exact in (0, 64):
        found = fit(tree, 4, words, backfill=False, exact=exact)
        assert shown(found.tree) == "c"
        assert "stands behind /text" in found.omitted[0].reason
        assert shown(fit(tree, 4, words, exact=exact).tree) == "a c"
    soft = h.document[leaf("a", 1, 1), h.first(priority=2)[leaf("b", 3)], leaf("c", 2, 3)]
    assert shown(fit(soft, 4, words, backfill=False).tree) == "c"


@pytest.mark.parametrize(
    ("tree", "path", "need", "limit"),
    [
        (h.document[h.text["x"], group(None, h.text["a b c"], leaf("d", 1, 1), limit=2, key="box")], "/box", 3, 2),
        (h.document[h.section(key="out")[h.text(limit=2, key="in")["a b c"]]], "/out/in", 3, 2),
        (h.document[group(None, h.text["a b c"], isolate=True, limit=2, key="iso")], "/iso", 3, 2),
    ],
)
def test_a_limit_that_is_too_small_names_its_place(tree: Element, path: str, need: int, limit: int) -> None:
    with pytest.raises(BudgetError) as caught:
        fit(tree, 50, words)
    details = caught.value.details
    assert (details["path"], details["need"], details["limit"]) == (path, need, limit)


def test_a_node_with_a_priority_that_breaks_its_own_limit_is_left_out() -> None:
    tree = h.document[leaf("a", 3, 5, limit=2), leaf("b", 1, 1)]
    found = fit(tree, 50, words)
    assert shown(found.tree) == "b"
    assert "limit is 2" in found.omitted[0].reason


def test_an_isolate_without_a_limit_is_an_error() -> None:
    with pytest.raises(TreeError, match="no limit"):
        fit(h.document[group(None, leaf("a"), isolate=True)], 5, words)


def test_what_was_picked_and_what_for() -> None:
    tree, _ = TREES["a choice of densities"]
    found = fit(tree, 7, words)
    assert found.picks == (("/choice", "full"), ("/choice", "compact"))
    assert [(one.path, one.tokens) for one in found.omitted] == [("/choice/full", 3)]
    assert "compact stands for it" in found.omitted[0].reason
