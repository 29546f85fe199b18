"""Tree to mdast to Markdown and back: what is read is the tree, in normal form."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from tree_strategies import documents

from campaigns import Campaign
from hudkit.compose import Element, h, validate
from hudkit.compose.formats.markdown import parse, render, write
from hudkit.compose.formats.mdast_tree import from_mdast, to_mdast

TREES = Campaign("markdown", quick=200, full=30_000)
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def normal(tree: Element) -> Element:
    """The normal form of a tree."""
    return from_mdast(to_mdast(tree))


def _check(tree: Element) -> None:
    found = normal(tree)
    assert normal(found) == found
    validate(found)
    for one in (tree, found):
        written = render(one)
        assert from_mdast(parse(written, gfm=True)) == found, written
        assert write(parse(written, gfm=True)) == written


@pytest.mark.parametrize(
    "children",
    [
        (h.emphasis[h.strong["a"], h.strong["a"]],),
        (h.strong[h.emphasis["a"], "a"], "a"),
        ("http://https://a.b",),
    ],
)
def test_a_tree_that_once_came_back_otherwise(children: tuple[Element | str, ...]) -> None:
    _check(h.document[h.paragraph[children]])


@TREES
@pytest.mark.slow
@settings(deadline=None, max_examples=TREES.rounds, suppress_health_check=_SLOW)
@given(tree=documents)
def test_every_tree_comes_back_in_normal_form(tree: Element) -> None:
    _check(tree)


def _doc(source: str) -> Element:
    return from_mdast(parse(source, gfm=True))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (h.document[h.fragment[h.text["a"]], h.paragraph, h.quote, h.table], h.document[h.paragraph["a"]]),
        (
            h.document[h.section(title=" A\n")[h.section(title="B", level=4)[h.text["b"]]], h.text["c"]],
            h.document[h.section(title="A\\n")[h.section(title="B", level=4)[h.paragraph["b"], h.paragraph["c"]]]],
        ),
        (h.text[" a", h.strong[" b ", h.strong["c"]], h.strong["d"]], h.paragraph["a ", h.strong["b cd"]]),
        (h.text[h.code["a"], h.code["b"], h.emphasis[""]], h.paragraph[h.code["ab"]]),
        (
            h.list[h.item(checked=True, key="k")["a"], h.more(hidden=2)],
            h.list[h.item(checked=True)["a"], h.item["+2 more"]],
        ),
        (
            h.table(align="r")[h.row[h.cell["a"], h.cell], h.row],
            h.table(align="r-")[h.row[h.cell["a"], h.cell], h.row[h.cell, h.cell]],
        ),
        (h.text[h.link(href="a ü")["x"]], h.paragraph[h.link(href="a%20%C3%BC")["x"]]),
        (
            h.document[h.first[h.text["a"], h.text["b"]], h.default[h.rule, h.text["c"]]],
            h.document[h.paragraph["a"], h.rule],
        ),
    ],
)  # fmt: skip
def test_normal_form(tree: Element, expected: Element) -> None:
    assert normal(tree) == expected
    assert normal(expected) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a\nb\\\nc", h.document[h.paragraph["a b c"]]),
        ("## A\n\n# B\n\nx", h.document[h.section(title="A", level=2), h.section(title="B")[h.paragraph["x"]]]),
        ("- a\n\n  b\n  - c\n- [x] d", h.document[h.list[h.item["a b"], h.item["c"], h.item(checked=True)["d"]]]),
        ("![i](/s) <b>", h.document[h.paragraph[h.link(href="/s")["i"], " ", h.code["<b>"]]]),
        ("<div>\nx\n</div>", h.document[h.pre(lang="html")["<div>\nx\n</div>"]]),
        ("a[^1]\n\n[^1]: b", h.document[h.paragraph["a[^1]"], h.paragraph["[^1]: b"]]),
        ("http://a.b www.c.d", h.document[h.paragraph["http://a.b ", h.link(href="http://www.c.d")["www.c.d"]]]),
        ("> # A\n> b", h.document[h.quote[h.section(title="A")[h.paragraph["b"]]]]),
    ],
)
def test_what_was_written_by_others(source: str, expected: Element) -> None:
    assert _doc(source) == expected
    assert normal(expected) == expected
    assert _doc(render(expected)) == expected
