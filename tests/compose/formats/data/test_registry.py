"""The registry: every format by name, both ways; rules matched by schema; targets of other packages."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import Element, h, visible
from hudkit.compose.formats import graph, registry
from hudkit.compose.formats.mdast_tree import from_mdast, to_mdast
from hudkit.compose.formats.transform import Rule, Shape, Transform, hinted
from hudkit.errors import ConfigError, FormatError
from strategies import hostile

TREE = h.document[
    h.section(title='Notes <"x">')[
        h.paragraph["a ", h.strong["b"], " & `c`"],
        h.list[h.item["one"], h.item["two"]],
        h.section(title="Deeper")[()],
    ]
]


@pytest.mark.parametrize("name", registry.names())
def test_a_tree_survives_every_format_that_keeps_it(name: str) -> None:
    found = registry.read_tree(name, registry.write_tree(name, TREE))
    if name == "graph":
        assert (
            found
            == h.document[
                h.section(title='Notes <"x">')[
                    h.paragraph["a b & `c`"], h.list[h.item["one"], h.item["two"]], h.section(title="Deeper")[()]
                ]
            ]
        )
    else:
        assert found == TREE == from_mdast(to_mdast(TREE))


@pytest.mark.slow
def test_the_names() -> None:
    assert registry.names()[:9] == (
        "markdown", "html", "graph", "json", "minified", "compact", "columns", "toon", "toon-even",
    )  # fmt: skip
    for name in registry.names():
        assert registry.format_of(name).name == name
        assert registry.format_of(name).doc.endswith(".")
    with pytest.raises(ConfigError, match=r"there is no format 'yaml'.*There are: markdown"):
        registry.format_of("yaml")


def test_what_a_value_costs_in_each_format() -> None:
    costs = registry.tokens_of([{"message_id": 1}, {"message_id": 2}], len)
    assert list(costs) == ["json", "minified", "compact", "columns", "toon", "toon-even"]
    assert costs["compact"] == len('[{"msg":1},{"msg":2}]') and costs["columns"] == len(
        '{"cols":["message_id"],"rows":[[1],[2]]}'
    )
    assert list(registry.tokens_of([-0.0], len)) == ["json", "minified", "compact", "columns"]
    assert list(registry.tokens_of(TREE, len, carries="tree")) == ["markdown", "html", "graph"]


class Section(Shape, frozen=True, tag="section"):
    """A section."""

    title: str = ""


class List(Shape, frozen=True, tag="list"):
    """A list, numbered or not."""


class Ordered(Shape, frozen=True, tag="list"):
    """A numbered list."""

    ordered: Literal[True]


class Alert(Shape, frozen=True, tag="alert"):
    """A custom element, with a prop that it must have."""

    level: int


def test_rules_are_matched_by_schema_the_first_that_fits() -> None:
    rules: tuple[Rule[str], ...] = (
        Rule(Alert, lambda alert, _, within: [f"alert {alert.level}", *within(_.children)]),
        Rule(Ordered, lambda *_: ["ordered"]),
        Rule(Section | List, lambda shape, *_: [type(shape).__name__]),
    )
    transform: Transform[str] = Transform("test", rules, lambda text: text)
    nodes = (
        h.list(ordered=True)[()],
        h.list(ordered=False)[()],
        h.section(title="x", priority=3)[()],
        Element("alert", (("level", 2),), ("now",)),
    )
    assert transform.to(nodes) == ["ordered", "List", "Section", "alert 2", "now"]
    mine = transform.with_rules(Rule(msgspec.defstruct("Any", []), lambda _, element, __: [element.tag]))
    assert mine.to(nodes) == ["list", "list", "section", "alert"]
    with pytest.raises(FormatError, match="no rule takes <rule>"):
        transform.to((h.rule.element(),))
    with pytest.raises(FormatError, match="no rule takes <alert>"):
        transform.to((Element("alert", (("level", "high"),), ()),))
    with pytest.raises(FormatError, match="no rule takes a int"):
        Transform[Any]("test", rules, str).back([3])


def test_an_unknown_element_is_written_as_its_hint_says() -> None:
    alert = Element("alert", (("level", 2), ("markdown", "section"), ("title", "Now")), ("x", h.rule.element()))
    assert hinted(h.document[()].with_children((alert,))) == Element(
        "document", (), (Element("section", (("level", 2), ("title", "Now")), ("x", h.rule.element())),)
    )
    line = Element("document", (), (Element("alert", (("markdown", "quote"),), (h.paragraph["now"],)),))
    assert registry.write_tree("markdown", line) == "> now\n"
    assert registry.write_tree("html", line) == "<blockquote>\n<p>now</p>\n</blockquote>\n"
    assert registry.write_tree("graph", line) == 'flowchart TD\nn0["now"]\n'
    strict: Transform[str] = Transform("test", (Rule(Section, lambda section, *_: [section.title]),), str)
    assert strict.to((alert,)) == ["Now"]


titles = hostile.map(lambda text: visible(text))
lines = titles.map(lambda text: h.paragraph[text])
lists = st.tuples(st.sampled_from([None, True]), st.lists(titles.map(lambda text: h.item[text]), max_size=3)).map(
    lambda drawn: h.list(ordered=drawn[0])[drawn[1]]
)
outlines = st.lists(
    st.recursive(
        st.one_of(lines, lists),
        lambda inner: st.tuples(titles, st.lists(inner, max_size=3)).map(
            lambda drawn: h.section(title=drawn[0])[drawn[1]]
        ),
        max_leaves=6,
    ),
    max_size=3,
).map(lambda nodes: h.document[nodes])


LINE = re.compile(r'flowchart TD|n\d+ --> n\d+|n\d+[\[(]+"([^"<>&`\\{}|;#]|#\d+;)*"[\])]+')


@pytest.mark.slow
@given(outlines)
def test_an_outline_survives_a_flowchart(tree: Element) -> None:
    text = graph.write(tree)
    assert graph.read(text) == tree, text
    assert all(LINE.fullmatch(line) for line in text.splitlines()), text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("graph TD\n", 1),
        ("flowchart TD\nn0\n", 2),
        ('flowchart TD\nn0["a"]\nn0["b"]\n', 3),
        ('flowchart TD\nn0(["a"))\n', 2),
        ('flowchart TD\nn0["a"]\nn1 --> n0\n', 3),
        ('flowchart TD\nn0["a"]\nn0 --> n0\n', 3),
        ("flowchart TD\n" + "".join(f'n{n}(["a"])\nn{n - 1} --> n{n}\n' for n in range(1, 300)), 3),
    ],
)
def test_what_is_no_flowchart_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(FormatError) as caught:
        graph.read(text)
    assert caught.value.details["line"] == line


@pytest.mark.slow
def test_the_libraries_are_loaded_at_their_first_use() -> None:
    program = """
import sys
from hudkit.compose import h
from hudkit.compose.formats import html, registry, toon
assert html.render(h.text["a"]) == "<p>a</p>\\n"
assert registry.format_of("compact").write({"reply_to": 1}) == '{"re":1}'
print({"toon_format", "justhtml"} & sys.modules.keys())
toon.encode(1), html.read("x")
print(sorted({"toon_format", "justhtml"} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "set()\n['justhtml', 'toon_format']\n", done.stderr
