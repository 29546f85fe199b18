"""The examples in the docstrings of the formats are true: what a reader is told there is what happens."""

from __future__ import annotations

import pytest

from hudkit.compose import h
from hudkit.compose.formats import columns, compact, graph, html, toon
from hudkit.compose.formats.columns import align_rows
from hudkit.compose.formats.markdown import parse, render, write
from hudkit.compose.formats.mdast import Emphasis, Heading, List, ListItem, Paragraph, Root, Text, first_number
from hudkit.compose.formats.mdast_tree import from_mdast, to_mdast, tree_to_inline


@pytest.mark.parametrize(
    ("nodes", "written"),
    [
        ((Text("2 * 3"), Emphasis((Text("now"),))), "2 * 3*now*\n"),
        ((Text("x"), Emphasis((Text("a"),))), "x*a*\n"),
        ((Emphasis((Text("(a)"),)), Text("b")), "*(a)*&#98;\n"),
        ((Text("1. a [b](c) * d_e"),), "1\\. a [b\\](c) * d_e\n"),
        ((Text("12.5"),), "12.5\n"),
        ((Text("**kwargs and *args*"),), "**kwargs and *args\\*\n"),
        ((Text("`a` b"),), "\\`a` b\n"),
    ],
)
def test_markers_and_escapes_of_a_line(nodes: tuple[Text | Emphasis, ...], written: str) -> None:
    assert write(Paragraph(nodes)) == written
    assert parse(written, gfm=True) == Root((Paragraph(nodes),))


def test_a_heading_needs_no_escape_for_a_number() -> None:
    assert write(Heading(1, (Text("1. a"),))) == "# 1. a\n"


def test_blocks() -> None:
    items = tuple(ListItem((Paragraph((Text(word),)),)) for word in ("read", "write"))
    assert write(Root((Heading(1, (Text("Plan"),)), List(items)))) == "# Plan\n\n- read\n- write\n"
    assert (first_number(-2, 3), first_number(999_999_999, 3)) == (0, 999_999_996)


def test_a_url_is_bare_where_nothing_after_it_needs_an_escape() -> None:
    assert render(h.text["see https://a.b/c_d). and https://a.b/*c*"]) == (
        "see https://a.b/c_d). and https\\://a.b/*c\\*\n"
    )


def test_normal_form() -> None:
    tree = h.document[h.section(title="Plan")[h.text["a ", h.strong["b "]], h.fragment[h.text["c"]]]]
    normal = h.document[h.section(title="Plan")[h.paragraph["a ", h.strong["b"]], h.paragraph["c"]]]
    assert from_mdast(to_mdast(tree)) == normal
    assert [type(node).__name__ for node in tree_to_inline(("see ", h.code["a"], " "))] == [
        "Text",
        "InlineCode",
    ]


def test_rows_are_aligned() -> None:
    rows = [{"id": 1, "text": "a"}, {"id": 2, "to": [3], "text": "b"}]
    assert align_rows(rows, flat=True) == [
        {"id": 1, "to~": None, "text": "a"},
        {"id": 2, "to~": "[3]", "text": "b"},
    ]
    assert columns.encode(rows) == '{"cols":["id","to?","text"],"rows":[[1,null,"a"],[2,[3],"b"]]}'
    assert align_rows([{"a": 1, "b": 2}, {"b": 1, "a": 2}]) == [{"a": 1, "b": 2}, {"b": 1, "a": 2}]
    assert compact.shorten_keys({"reply_to": 1, "re": 2}) == {"re": 1, "$re": 2}


def test_a_table_of_toon() -> None:
    assert toon.encode([{"id": 1, "ok": True}, {"id": 2, "ok": False}]) == "[2]{id,ok}:\n  1,true\n  2,false"


def test_a_flowchart() -> None:
    tree = h.document[h.section(title="Plan")[h.paragraph["read the tests"], h.list[h.item["write"]]]]
    text = graph.write(tree)
    example = (graph.__doc__ or "").split("\n\n")[2]
    assert [line.strip() for line in example.splitlines()] == text.splitlines()
    assert graph.read(text) == tree


def test_html_is_sanitised() -> None:
    text = '<p onclick="x()">see <a href="javascript:x()">this</a><script>x()</script></p>'
    assert html.write(html.parse(text)) == "<p>see this</p>\n"
