"""Trees to JSX text and JSON and back: equal for every tree of the vocabulary, whatever its texts hold."""

from __future__ import annotations

import json

import jsonschema
import pytest
from element_strategies import VALUES, elements
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hudkit.compose import TAGS, Element, TreeLimits, h, read_json, read_jsx, tree_schema, write_json, write_jsx
from hudkit.compose.vocabulary import COMMON_PROPS
from hudkit.errors import TreeError

pytestmark = pytest.mark.slow

calm = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
SCHEMA = jsonschema.Draft202012Validator(tree_schema())


def same(one: Element, two: Element) -> bool:
    """Equal, and of the same types (`1`, `1.0` and `True` are equal in Python)."""
    return one == two and repr(one) == repr(two)


@calm
@given(elements())
@example(h.text["a", "b", "", " ", h.strong[" "], " c"])
@example(h.text["\ud83d", "\ude00", "\ud83d\ude00"[:1]])
@example(Element("document", (), (Element("fragment", (), (Element("fragment", (), ()),)),)))
@example(Element("fragment", (), ("\n", Element("fragment", (), (" ",)))))
@example(h.list(ordered=False, priority=1.0)[h.item["x"]])
@example(h.list(priority=-0.0)[h.item["&amp;lt; {a} \\u0041 </item>"]])
@example(h.pre(lang='"\n&quot;')["\r\n\x00\x85\u2028"])
def test_jsx_text_reads_back(tree: Element) -> None:
    text = write_jsx(tree)
    assert same(read_jsx(text), tree)
    assert write_jsx(read_jsx(text)) == text
    assert text.encode() and text.replace("\n", "").isprintable()


@settings(calm, max_examples=80)
@given(elements())
@example(h.text["\ud800"])
def test_json_reads_back_or_refuses_lone_surrogates(tree: Element) -> None:
    lone = any("\ud800" <= char <= "\udfff" for _, node in tree.walk() for char in letters(node))
    if lone:
        with pytest.raises(TreeError, match="surrogate"):
            write_json(tree)
        return
    data = write_json(tree)
    assert same(read_json(data), tree) and same(read_json(data.decode()), tree)
    assert SCHEMA.is_valid(json.loads(data))


def letters(node: Element | str) -> str:
    if isinstance(node, str):
        return node
    return "".join(value for _, value in node.props if isinstance(value, str))


def test_every_element_and_prop_is_drawn() -> None:
    assert {tag for tag, _ in VALUES} == set(TAGS)
    assert {name for _, name in VALUES} == {*COMMON_PROPS, *(name for spec in TAGS.values() for name in spec.props)}


mutations = st.one_of(
    st.tuples(st.just("tag"), st.sampled_from(["nonsense", "item", "text"])),
    st.tuples(st.just("children"), st.sampled_from([["bare"], [{"tag": "section"}], [1], [None], "x"])),
    st.tuples(
        st.just("props"),
        st.sampled_from(
            [
                {"limit": 2**60}, {"onClick": "x"}, {"level": 7}, {"level": "2"}, {"priority": True},
                {"reserve": "/0"}, {"limit": -1}, {"truncate": "left"}, {"key": None}, {"align": "x"},
                {"align": "l\n"}, {"limit": 1.5},
            ]
        ),
    ),
    st.sampled_from([("extra", 1), ("props", [])]),
)  # fmt: skip


@settings(calm, max_examples=60)
@given(elements(depth=2), mutations)
def test_the_schema_accepts_what_the_reader_accepts(tree: Element, mutation: tuple[str, object]) -> None:
    """One table makes both, so they agree on valid trees and on broken ones."""
    try:
        plain = json.loads(write_json(tree))
    except TreeError:
        return
    plain[mutation[0]] = mutation[1]
    try:
        read_json(json.dumps(plain))
        read = True
    except TreeError:
        read = False
    assert SCHEMA.is_valid(plain) is read


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(tree_schema())


def test_the_forms_by_example() -> None:
    tree = h.document[
        h.section(title="Rules & more", priority=2)[
            h.list(ordered=True)[h.item["one ", h.code["a<b"]], h.item["two", "parts"]], h.pre["x\n\ty"]
        ]
    ]
    assert write_jsx(tree) == (
        "<document>\n"
        '  <section priority={2} title="Rules &amp; more">\n'
        "    <list ordered>\n"
        "      <item>one <code>a&lt;b</code></item>\n"
        '      <item>two{"parts"}</item>\n'
        "    </list>\n"
        '    <pre>{"x\\n\\ty"}</pre>\n'
        "  </section>\n"
        "</document>\n"
    )
    assert write_json(h.text(key="a")["x", h.strong["y"]]) == (
        b'{"tag":"text","props":{"key":"a"},"children":["x",{"tag":"strong","children":["y"]}]}'
    )


def test_what_could_not_be_read_is_not_written() -> None:
    deep = h.document[h.quote[h.quote[h.text["x"]]]]
    for write in (write_jsx, write_json):
        with pytest.raises(TreeError, match="more than 2 levels"):
            write(deep, TreeLimits(depth=2))
        with pytest.raises(TreeError, match="more than 3 nodes"):
            write(deep, TreeLimits(nodes=3))
        with pytest.raises(TreeError, match=r"prop 'priority' of <text> is nan, at document > text\[1\]"):
            write(h.document[h.rule, h.text(priority=float("nan"))["x"]])
        with pytest.raises(TreeError, match="have the key 'a', at document > list"):
            write(h.document[h.list[h.item(key="a")["x"], h.item(key="a")["y"]]])
