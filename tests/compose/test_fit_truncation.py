"""The portable cases of composition, part C: layers that stay, steps, and long texts."""

from __future__ import annotations

import pytest

from hudkit.compose import Element, Node, h, text_of
from hudkit.compose.fitting import fit
from hudkit.errors import BudgetError, TreeError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return sum(words(child) for child in node.children)


def characters(node: Node) -> int:
    return len(text_of(node))


def leaf(name: str, size: int = 1, priority: float | None = None) -> Element:
    return h.text(priority=priority)[" ".join([name] * size)]


def shown(tree: Element) -> str:
    return " ".join(node for _, node in tree.walk() if isinstance(node, str))


LAYERS = h.document[leaf("A", 1, 1), leaf("B", 1, 2), h.break_[()], leaf("C", 1, 3), leaf("D", 1, 4)]


@pytest.mark.parametrize(("budget", "text"), [(4, "A B C D"), (3, "A B D"), (2, "A B")])
def test_c1_nothing_before_the_last_break_is_left_out(budget: int, text: str) -> None:
    found = fit(LAYERS, budget, words)
    assert shown(found.tree) == text
    assert found.breaks == ((2,),)


def test_c1_nothing_is_left_to_drop() -> None:
    with pytest.raises(BudgetError, match="needs 2 tokens and the budget is 1"):
        fit(LAYERS, 1, words)


def test_c2_breaks_with_nothing_between_are_one() -> None:
    tree = h.document[
        h.break_[()],
        leaf("A", 1, 1),
        h.break_[()],
        h.break_[()],
        h.section(priority=1)[leaf("B", 1, 1), h.break_[()], leaf("C", 1, 1)],
        leaf("D", 1, 1),
    ]
    found = fit(tree, 2, words)
    assert shown(found.tree) == "A B"
    assert found.breaks == ((1,), (1, 1))
    assert [found.last_breaks(most) for most in (0, 1, 2, 4)] == [(), ((1, 1),), found.breaks, found.breaks]
    assert shown(fit(tree, 4, words).tree) == "A B C D"


def test_before_a_break_the_first_alternative_is_the_one() -> None:
    tree = h.document[
        h.first[leaf("long", 3, 1), leaf("short", 1, 2)],
        h.default[h.text[""], h.text["none"]],
        h.text(truncate="end", limit=2)["a b c d e"],
        h.break_[()],
        leaf("x", 1, 9),
    ]
    assert shown(fit(tree, 20, words).tree) == "long long long none a b… x"
    with pytest.raises(BudgetError):
        fit(tree, 5, words)


def history(sizes: list[int], step: int, **props: object) -> Element:
    parts = [h.text[" ".join([f"m{n}"] * size)] for n, size in enumerate(sizes)]
    return h.document[leaf("fixed", 900), h.section(step=step, **props)[parts], leaf("end", 10)]  # type: ignore[arg-type]


MIXED = [10] * 5 + [100] * 10 + [10]


@pytest.mark.parametrize(
    ("sizes", "limit", "step", "left"),
    [
        ([10] * 10, 1000, 10, 1000),
        ([10] * 10, 1000, 20, 990),
        ([10] * 10, 1000, 100, 910),
        ([10] * 10, 1000, 1000, 910),
        (MIXED, 1245, 7, 1220),
        (MIXED, 1333, 33, 1220),
        (MIXED, 1333, 24, 1320),
        (MIXED, 1333, 16, 1320),
        ([10] * 10, 1010, 100, 1010),
    ],
)
def test_c3_history_goes_in_steps(sizes: list[int], limit: int, step: int, left: int) -> None:
    tree = history(sizes, step)
    found = fit(tree, limit, words)
    assert found.tokens == words(found.tree) == left
    assert fit(found.tree, limit, words).tree == found.tree
    assert sum(one.tokens for one in found.omitted) == words(tree) - left


def test_c3_what_cannot_be_dropped_is_an_error_and_the_tree_is_as_it_was() -> None:
    tree = history([10] * 10, 100)
    with pytest.raises(BudgetError) as caught:
        fit(tree, 900, words)
    assert caught.value.details["tree"] is tree
    with pytest.raises(TreeError, match="step=0"):
        fit(history([10], 0), 2000, words)


def rate(step: int) -> tuple[float, list[int]]:
    """The share of tokens, over 40 turns, that begin as the request before did."""
    common = total = 0
    before: list[str] = []
    sizes = []
    for turn in range(1, 41):
        messages = [h.text[" ".join(f"{n}.{k}" for k in range(10))] for n in range(turn)]
        tree = h.document[h.text[" ".join(f"s{k}" for k in range(20))], h.section(step=step)[messages]]
        now = shown(fit(tree, 120, words).tree).split()
        common += next((n for n, (a, b) in enumerate(zip(before, now)) if a != b), min(len(before), len(now)))
        total += len(now)
        sizes.append(len(now))
        before = now
    return round(common / total, 3), sizes


@pytest.mark.parametrize(("step", "expected"), [(1, 0.283), (10, 0.283), (20, 0.614), (50, 0.808)])
def test_c4_steps_keep_the_prefix(step: int, expected: float) -> None:
    found, sizes = rate(step)
    assert found == expected
    if step == 50:
        assert sizes[9:17] == [120, 80, 90, 100, 110, 120, 80, 90]


def test_steps_with_a_priority_take_what_is_left() -> None:
    tree = h.document[
        leaf("a", 2, 1), h.section(step=2, priority=5)[leaf("x"), leaf("y"), leaf("z")], leaf("b", 1, 9)
    ]
    assert shown(fit(tree, 4, words).tree) == "x y z b"
    assert shown(fit(tree, 3, words).tree) == "z b"
    assert shown(fit(tree, 6, words).tree) == "a a x y z b"
    assert shown(fit(tree, 1, words).tree) == "b"


# -- one long text -------------------------------------------------------------------------------------------------

TEXT = "0123456789"


@pytest.mark.parametrize(
    ("where", "limit", "text"),
    [
        ("end", 10, TEXT),
        ("end", 6, "01234…"),
        ("start", 6, "…56789"),
        ("middle", 6, "012…89"),
        ("end", 1, "…"),
    ],
)
def test_a_long_text_with_its_marker_inside_the_limit(where: str, limit: int, text: str) -> None:
    tree = h.document[h.text(truncate=where, limit=limit)[TEXT]]
    found = fit(tree, 50, characters)
    assert (text_of(found.tree), found.tokens) == (text, len(text))
    assert fit(found.tree, 50, characters).tree == found.tree
    cut = h.document[h.text(truncate=where)[TEXT]]
    assert text_of(fit(cut, limit, characters).tree) == text


def test_a_marker_of_ones_own() -> None:
    tree = h.document[h.text(truncate="middle", limit=8, marker="[cut]")[TEXT]]
    assert text_of(fit(tree, 50, characters).tree) == "01[cut]9"


def test_a_marker_that_is_longer_than_its_limit_is_an_error() -> None:
    with pytest.raises(TreeError, match="the marker at /text costs 5 tokens, and its limit is 4"):
        fit(h.document[h.text(truncate="end", limit=4, marker="[cut]")[TEXT]], 50, characters)
    short = h.document[h.text(truncate="end", limit=4, marker="[cut]")["0123"]]
    assert fit(short, 50, characters).tree == short, "where nothing is cut there is no marker"


def test_a_long_text_takes_what_is_left_at_its_turn() -> None:
    tree = h.document[h.text["aa"], h.text(truncate="end", priority=5)[TEXT], h.text(priority=1)["z"]]
    assert text_of(fit(tree, 9, characters).tree) == "aa012345…"
    assert text_of(fit(tree, 13, characters).tree) == "aa0123456789z"
    found = fit(tree, 9, characters)
    assert "3 characters were cut, to 7 tokens" in found.omitted[0].reason
    assert text_of(fit(tree, 2, characters).tree) == "aa"


def test_a_long_text_that_must_stay_is_cut_to_the_marker_at_least() -> None:
    tree = h.document[h.text["aa"], h.text(truncate="end")[TEXT]]
    assert text_of(fit(tree, 3, characters).tree) == "aa…"
    with pytest.raises(BudgetError):
        fit(tree, 2, characters)
    with pytest.raises(TreeError, match="truncate='top'"):
        fit(h.document[h.text(truncate="top")[TEXT]], 3, characters)


FAMILY = "👨‍👩‍👧"
CLUSTERS = [FAMILY, "é", "🇩🇪", "🇫🇷", "👍🏽", "각", "\r\n", "한", "க்", "x", "❤️"]


def test_no_cut_falls_within_a_character_as_it_is_seen() -> None:
    text = "".join(CLUSTERS)
    edges = {0}
    for cluster in CLUSTERS:
        edges.add(max(edges) + len(cluster))
    for where in ("start", "middle", "end"):
        tree = h.document[h.text(truncate=where, marker="|")[text]]
        heads = set()
        for size in range(len(text) - 1):
            parts = text_of(fit(tree, size + 1, characters).tree).split("|")
            heads.add(len(parts[0]))
            assert text.startswith(parts[0]) and text.endswith(parts[1])
            assert len(parts[0]) in edges and len(text) - len(parts[1]) in edges
            assert len(parts[0]) + len(parts[1]) <= size
        # With a budget for each size, the end is cut at each edge once.
        assert where != "end" or heads == edges - {len(text)}
