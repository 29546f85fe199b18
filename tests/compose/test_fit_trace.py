"""The portable cases of composition, part E: where in the text each node is, what was left out, and why."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, Node, h, text_of
from hudkit.compose.fitting import SourceMap, fit, source_map, trace, trace_page
from hudkit.compose.formats.markdown import render
from hudkit.errors import BudgetError


def words(node: Node) -> int:
    if isinstance(node, str):
        return len(node.split())
    return len(str(node.get("title", "")).split()) + sum(words(child) for child in node.children)


def plain(element: Element) -> str:
    """A writer of its own: texts in order, one on a line."""
    return "".join(f"{one}\n" for _, one in element.walk() if isinstance(one, str))


def leaf(name: str, size: int = 1, priority: float | None = None) -> Element:
    return h.text(priority=priority, key=name)[" ".join([name] * size)]


def sound(found: SourceMap) -> None:
    encoded = found.text.encode()
    for span in found.spans:
        assert 0 <= span.start <= span.end <= len(found.text)
        assert encoded[span.start_byte : span.end_byte].decode() == found.text[span.start : span.end]
    leaves = found.leaves
    assert all(a.end <= b.start for a, b in pairwise(leaves))


# -- E1 ------------------------------------------------------------------------------------------------------------

DOCUMENT = h.document[
    h.section(title="Tâche", level=2)[h.text["Zieh um: 日本 → 😀"], h.pre(lang="sh")["a\n  b"]],
    h.list[h.item["eins"], h.item["zwei ", h.strong["drei"]], h.item["👍 vier"]],
    h.list(ordered=True, start=7)[h.item["one"], h.item["two"]],
    h.quote[h.text["said *so*"]],
    h.text["last"],
]


def test_e1_every_leaf_of_the_map_is_its_own_string() -> None:
    found = source_map(DOCUMENT, render)
    sound(found)
    text = {span.path: found.text[span.start : span.end] for span in found.spans}
    assert text[(0, 0)] == "Zieh um: 日本 → 😀"
    assert text[(0, 1)] == "```sh\na\n  b\n```"
    assert [text[(1, n)] for n in range(3)] == ["- eins", "- zwei **drei**", "- 👍 vier"]
    assert text[(1, 1, 1, 0)] == "drei"
    assert text[(2, 1)] == "two"
    assert text[(4,)] == "last"
    emoji = found.of((0, 0))
    assert emoji is not None
    assert emoji.end - emoji.start == 15 and emoji.end_byte - emoji.start_byte == len("Zieh um: 日本 → 😀".encode())
    assert found.at(found.text.index("vier")).path[:2] == (1, 2)  # type: ignore[union-attr]


texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=1, max_size=12)
trees = st.lists(
    st.one_of(
        texts.map(lambda one: h.text[one]),
        st.lists(texts, min_size=1, max_size=3).map(lambda ones: h.list[(h.item[one] for one in ones)]),
        st.tuples(texts, texts).map(lambda pair: h.section(title=pair[0])[h.text[pair[1]]]),
    ),
    max_size=5,
).map(lambda parts: h.document[parts])


@pytest.mark.slow
@given(trees)
def test_e1_for_any_text_and_any_writer(tree: Element) -> None:
    for write in (render, plain):
        sound(source_map(tree, write))
    exact = source_map(tree, plain)
    said = [one.strip() for _, one in tree.walk() if isinstance(one, str)]
    assert [exact.text[one.start : one.end] for one in exact.leaves if one.path] == [one for one in said if one]


# -- E2 to E4 ------------------------------------------------------------------------------------------------------

TREE = h.document[
    leaf("base", 2),
    h.section(title="S", priority=5)[leaf("a", 2, 5), leaf("b", 4, 4)],
    leaf("c", 3, 3),
    h.choice(priority=2)[h.text(density="full")["F F F"], h.text(density="compact")["C"]],
]


def test_e2_what_is_left_out_is_told_once_and_what_is_in_is_not() -> None:
    found = fit(TREE, 8, words)
    assert [(one.path, one.text, one.tokens) for one in found.omitted] == [
        ("/S/b", "b b b b", 4),
        ("/choice", "F F F", 3),
    ]
    assert all(one.text not in plain(found.tree) for one in found.omitted)
    entries = {one.path: one.present for one in trace(TREE, 8, words).entries}
    assert entries["/S/a"] and not entries["/S/b"]


def test_e3_a_reference_of_a_node_that_was_left_out_is_told_apart() -> None:
    tree = h.document[h.text(key="ref:1", priority=2)["one"], h.text(key="ref:2", priority=1)["two two"]]
    entries = trace(tree, 1, words).entries
    assert {one.path: one.present for one in entries if "ref" in one.path} == {"/ref:1": True, "/ref:2": False}


def test_e4_an_error_has_the_tree_as_it_was_and_the_path() -> None:
    try:
        fit(TREE, 1, words)
    except BudgetError as error:
        assert error.details["tree"] is TREE
        assert (error.details["path"], error.details["need"], error.details["limit"]) == ("/base", 2, 1)
    else:
        raise AssertionError("it fits")


# -- the trace -----------------------------------------------------------------------------------------------------


def test_what_would_bring_a_node_back() -> None:
    explained = trace(TREE, 9, words)
    assert explained.result == fit(TREE, 9, words)
    for place, entry in enumerate(explained.entries):
        more = explained.tokens_lacking(place)
        assert more is not None
        again = explained.at(9 + more).entries[place]
        assert again.present and not again.reason
        for less in range(9, 9 + more):
            assert not explained.at(less).entries[place].present or explained.at(less).entries[place].reason


def test_the_states_are_the_fits_that_differ() -> None:
    explained = trace(TREE, 9, words)
    by_budget = {one.budget: one.result.tree for one in explained.states()}
    assert min(by_budget) == 2 and max(by_budget) == words(TREE) - 1
    last = by_budget[2]
    for budget in range(2, 30):
        last = by_budget.get(budget, last)
        assert fit(TREE, budget, words).tree == last


LIMITED = {
    "of a container": h.document[h.section(limit=4)[[leaf(name, 3, 3 - n) for n, name in enumerate("abc")]]],
    "of a container, and a long text": h.document[h.section(limit=4)[h.text(truncate="end")["w " * 10]]],
    "of a long text": h.document[h.text(truncate="end", limit=4, priority=1)["w " * 10]],
    "of steps": h.document[h.section(step=2, limit=4)[[leaf("a"), leaf("b", 2), leaf("c", 3)]]],
    "of the tree": h.document(limit=4)[[leaf(name, 3, 3 - n) for n, name in enumerate("abc")]],
}


@pytest.mark.parametrize("name", LIMITED)
def test_what_a_limit_leaves_out_is_at_no_budget_and_the_trace_ends(name: str) -> None:
    explained = trace(LIMITED[name], 30, words)
    assert explained.result == fit(LIMITED[name], 30, words)
    assert 1 <= len(explained.states()) <= 5
    assert "never at any budget" in explained.text()


def test_the_trace_as_text() -> None:
    assert trace(TREE, 8, words).text() == TEXT


TEXT = """\
8 of 8 tokens
+ / (2)
+   /base (2) base base
+   /S @5 (1) S
+     /S/a @5 (2) a a
-     /S/b @4 (4) b b b b
        costs 4 tokens, and more important nodes left less of the budget of 8; in with 1 more
+   /c @3 (3) c c c
-   /choice @2 (3) F F F
      costs 3 tokens, and more important nodes left less of the budget of 8; in with 7 more
"""


def test_the_page_holds_all_of_it_and_loads_nothing() -> None:
    hostile = h.text(key="</script><b>", priority=1)["</script><script>alert(1)</script> & \u2028 <!--"]
    explained = trace(h.document[TREE.children, hostile], 9, words)
    found = trace_page(explained, render, title='<Fit> & "all"')
    assert found.count("</script>") == 2 and found.count("<script") == 2 and "<!--" not in found
    assert "<title>&lt;Fit&gt; &amp; &quot;all&quot;</title>" in found
    assert not re.findall(r"(?:src|href)\s*=|https?://|@import|url\(", found)
    match = re.search(r'<script id="data" type="application/json">(.*?)</script>', found, re.DOTALL)
    assert match is not None
    data = json.loads(match.group(1))
    assert data["nodes"][-1]["t"] == text_of(hostile)
    states = explained.states()
    assert [one["b"] for one in data["states"]] == [one.budget for one in states]
    assert [one["n"] for one in data["states"]] == [one.result.tokens for one in states]
    assert [one["t"] for one in data["states"]] == [render(one.result.tree) for one in states]
    assert all(len(one["s"]) == len(data["nodes"]) for one in data["states"])


@pytest.mark.slow
def test_the_page_of_a_tree_with_many_budgets_is_bounded() -> None:
    many = h.document[[h.text(truncate="end", priority=n)["w " * 300] for n in range(4)]]
    explained = trace(many, 100, words)
    states = explained.states()
    assert len(states) <= 400
    assert not states[-1].result.omitted and all(one.result.tokens <= one.budget for one in states)
