"""What JSX text says: white space, references, values by name, components, conditions."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import msgspec
import pytest

from hudkit.compose import ContextKey, Density, Element, Node, component, fragment, h, jsx, read_jsx
from hudkit.errors import TreeError

WHITE_SPACE = {
    "blanks in a line stay": ("<text> a  b </text>", h.text[" a  b "]),
    "also next to a tag": ("<text>a <strong> b</strong> c</text>", h.text["a ", h.strong[" b"], " c"]),
    "lines are trimmed where they meet": ("<text>\n  a\n\t b \t\n</text>", h.text["a b"]),
    "the first line keeps its start, the last its end": ("<text>  a  \n  b  </text>", h.text["  a b  "]),
    "blank lines go": ("<text>a\n\n \n\nb</text>", h.text["a b"]),
    "line breaks of all kinds": ("<text>a\r\nb\rc\nd</text>", h.text["a b c d"]),
    "a break between tags is nothing": (
        "<text><code>a</code>\n  <code>b</code></text>",
        h.text[h.code["a"], h.code["b"]],
    ),
    "a blank between tags is one": (
        "<text><code>a</code> <code>b</code></text>",
        h.text[h.code["a"], " ", h.code["b"]],
    ),
    "a blank between blocks is nothing": ("<document> <rule/> <rule/>\t</document>", h.document[h.rule, h.rule]),
    "also in a fragment there": ("<document><> <rule/> </></document>", h.document[h.rule]),
    "but not in one in a line": ("<text><>a <code>b</code> </></text>", h.text["a ", h.code["b"], " "]),
    "references are not trimmed": ("<text>\n&#32;a&#10;\n</text>", h.text[" a\n"]),
    "strings are not trimmed": ('<text>\n{" a "}\n</text>', h.text[" a "]),
    "texts are not joined": ('<text>a{"b"}{"c"}d</text>', h.text["a", "b", "c", "d"]),
    "comments part texts": ("<text>a {/* } </text> */} b</text>", h.text["a ", " b"]),
    "other white space is text": ("<text>\n\xa0\u2028a\n</text>", h.text["\xa0\u2028a"]),
    "nothing is no child": ("<text>\n</text>", h.text.element()),
    "around the root": (" {/* a */}\n<rule/>\n{/* b */ /* c */} ", h.rule.element()),
}
TEXTS = {
    "&lt;&gt;&amp;&quot;&apos;": "<>&\"'",
    "&#65;&#x42;&#X43;": "ABC",
    "&eacute;&nbsp;&euro;": "é\xa0€",
    "a & b &co; &amp &;": "a & b &co; &amp &;",
    "&#;&#x;&#xg;&#12a;": "&#;&#x;&#xg;&#12a;",
    "&amp;lt;": "&lt;",
    "a > b": "a > b",
    "&#xD83D;&#xDE00;": "\ud83d\ude00",
    r'{"\"\\\n\u00e9\ud83d\ude00\u{1F600}"}': '"\\\né\U0001f600\U0001f600',
    r"{'\'\/\0\ud83d'}": "'/\0\ud83d",
    r'{"\ud83d\u0041\ud83d\n"}': "\ud83dA\ud83d\n",
}


@pytest.mark.parametrize(("text", "tree"), WHITE_SPACE.values(), ids=WHITE_SPACE.keys())
def test_white_space(text: str, tree: Element) -> None:
    assert read_jsx(text) == tree


@pytest.mark.parametrize(("written", "text"), TEXTS.items())
def test_references_and_escapes(written: str, text: str) -> None:
    assert read_jsx(f"<text>{written}</text>").children == (text,)


def test_props() -> None:
    assert read_jsx("<list ordered start={3} priority={-1.5e2} key='a\"b'/>") == (
        h.list(ordered=True, start=3, priority=-150.0, key='a"b').element()
    )
    assert read_jsx('<link href="a?b=1&amp;c=\\n\n d&#10;">x</link>') == h.link(href="a?b=1&c=\\n\n d\n")["x"]
    assert read_jsx("<list ordered={false} start={null} />") == h.list(ordered=False).element()
    later = read_jsx('<section title="a" {...more} level={2} />', names={"more": {"title": "b", "level": 1}})
    assert later == h.section(title="b", level=2).element()


class Colour(StrEnum):
    RED = "red"


@dataclass
class Owner:
    name: str
    _secret: str = "s"
    tags: list[str] = field(default_factory=list)

    @property
    def dangerous(self) -> str:
        raise AssertionError("a property was run")


class Task(msgspec.Struct):
    summary: str
    owner: Owner


Point = namedtuple("Point", "x y")


def test_names_are_keys_and_declared_fields() -> None:
    given: dict[str, Any] = {
        "task": Task("Retry", Owner("Ada", tags=["a", "b"])),
        "at": Point(1, 2.5),
        "none": None,
        "yes": True,
        "colour": Colour.RED,
        "bold": h.strong["b"],
        "some": fragment("x", h.code["y"]),
        "nested": {"deep": [{"a": 1}, "n"][1:]},
    }
    text = (
        "<text key={colour}>{task.summary}{task.owner.name}{task.owner.tags}{at.x}{ at . y }{none}{yes}{bold}{some}"
        "{nested.deep}{12}{true}{null}</text>"
    ).replace("{ at . y }", "{ at.y }")
    assert (
        read_jsx(text, names=given)
        == h.text(key="red")["Retry", "Ada", "a", "b", "1", "2.5", h.strong["b"], "x", h.code["y"], "n", "12"]
    )
    for name in (
        "task.owner._secret",
        "task.owner.dangerous",
        "task.__class__",
        "colour.name",
        "bold.tag",
        "at.count",
    ):
        with pytest.raises(TreeError, match="has no"):
            read_jsx(f"<text>{{{name}}}</text>", names=given)


def test_text_that_is_given_is_data() -> None:
    hostile = "</text><rule/>{task}&lt;"
    assert read_jsx("<text key={it}>{it}</text>", names={"it": hostile}) == h.text(key=hostile)[hostile]


@component
def Notice(title: str, density: Density = Density.FULL, level: int | None = None, children: tuple[Node, ...] = ()):
    assert isinstance(density, Density)
    return h.section(title=f"{title} {density.value}", level=level)[children]


def test_components_by_name() -> None:
    made = jsx(
        "<document>\n <Notice title='a' density='compact' level={2}><rule/></Notice> <Plain n={n}/></document>",
        {"Notice": Notice, "Plain": lambda n: h.text[n.real]},
        n=3,
    )
    assert made == h.document[h.section(title="a compact", level=2)[h.rule], h.text["3"]]
    with pytest.raises(TreeError, match=r"line 1, column 11: <Row> needs the prop 'n'"):
        jsx("<document><Row/></document>", {"Row": lambda n: h.text[n]})


def test_component_that_renders_to_the_wrong_place() -> None:
    with pytest.raises(TreeError, match=r"<section> cannot stand in <list>.*at list\[0\]"):
        jsx("<list><Notice title='a'/></list>", {"Notice": Notice})


def test_show() -> None:
    text = "<list><Show when={n}><item>{n}</item></Show><Show unless={n}><item>none</item></Show></list>"
    assert jsx(text, n=2) == h.list[h.item["2"]]
    assert jsx(text, n=[]) == h.list[h.item["none"]]
    assert jsx("<Show when={false}><rule/></Show>") == fragment()
    assert jsx("<Show><rule/></Show>", {"Show": lambda children: h.quote[children]}) == h.quote[h.rule]


def test_context_keys_by_name() -> None:
    tone = ContextKey("tone", "plain")

    @component
    def Say(context: Any) -> Element:
        return h.text[context[tone]]

    text = "<><Say/><Tone value='loud'><Say/><Tone value={inner}><Say/></Tone></Tone><Say/></>"
    made = jsx(text, {"Say": Say, "Tone": tone}, inner="soft")
    assert made == fragment(*(h.text[one] for one in ("plain", "loud", "soft", "plain")))


STEPS = ({"name": "a", "done": True}, {"name": "b", "done": False})


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("<text>{yes && 'x'}{no && 'y'}{none && 'z'}</text>", h.text["x"]),
        ("<text>{!no && 'x'}{! !no && 'y'}</text>", h.text["x"]),
        ("<text>{yes ? 'x' : 'y'}{none ? 'x' : 'y'}</text>", h.text["x", "y"]),
        ("<text>{no ? 'x' : (none ? 'y' : <code>z</code>)}</text>", h.text[h.code["z"]]),
        ("<document>{yes && (\n  <rule />\n)}</document>", h.document[h.rule]),
        ("<text>{null ? 'x' : no}</text>", h.text.element()),
        ("<list>{steps.map(s => <item>{s.name}</item>)}</list>", h.list[h.item["a"], h.item["b"]]),
        (
            "<list>{steps.map((s, n) => (<item>{n} {s.name}</item>))}</list>",
            h.list[h.item["0", " ", "a"], h.item["1", " ", "b"]],
        ),
        ("<list>{steps.map(s => s.done && <item>{s.name}</item>)}</list>", h.list[h.item["a"]]),
        ("<text>{steps.map(s => steps.map(t => t.name))}{s}</text>", h.text["a", "b", "a", "b", "outside"]),
        ("<text>{none.map(x => 'y')}</text>", h.text.element()),
    ],
)
def test_conditions_and_maps(text: str, tree: Any) -> None:
    names = {"yes": True, "no": False, "none": [], "steps": STEPS, "s": "outside"}
    assert read_jsx(text, {}, names) == tree


def test_maps_within_maps_make_no_more_than_a_tree_may_have() -> None:
    with pytest.raises(TreeError, match="more than 20000 nodes"):
        read_jsx("<text>{a.map(x => a.map(y => a.map(z => 'x')))}</text>", {}, {"a": range(1_000)})


@pytest.mark.parametrize("opening", ["{a && (", "{a.map(x => ", "{a ? b : ("])
def test_deep_choices_and_maps_are_refused(opening: str) -> None:
    with pytest.raises(TreeError, match="more than 64 levels"):
        read_jsx("<text>" + opening + opening[1:] * 5_000, {}, {"a": (), "b": ""})
