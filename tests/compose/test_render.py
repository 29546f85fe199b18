"""Rendering: components, context values, keys, conditions; pure, and the same however it is run."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from hudkit.compose import (
    ContextKey,
    Element,
    Node,
    Pending,
    RenderContext,
    Show,
    component,
    fragment,
    h,
    jsx,
    render,
    validate,
    write_jsx,
)
from hudkit.errors import TreeError

TONE = ContextKey("tone", "plain")
OWNER: ContextKey[str] = ContextKey("owner")


@component
def Say(context: RenderContext, what: str = "") -> Element:
    return h.text[f"{what}{context[TONE]}"]


@component
def Box(title: str, children: tuple[Node, ...]) -> Element:
    return h.section(title=title)[children]


@component
def Rows(n: int) -> Element:
    return fragment(h.item[str(k)] for k in range(n))


def test_components_become_what_they_render_to() -> None:
    tree = h.document[Box.use(h.list[Rows.use(n=2), h.item["x"], Rows.use(n=0)], title="t"), h.rule]
    assert render(tree) == h.document[h.section(title="t")[h.list[h.item["0"], h.item["1"], h.item["x"]]], h.rule]
    assert render(Box.use(Box.use(title="b"), title="a")) == h.section(title="a")[h.section(title="b")]


def test_a_tree_without_components_is_the_same_object() -> None:
    tree = h.document[h.list[h.item["a ", h.strong["b"]]], h.rule, Element("fragment", (), (h.rule.element(),))]
    assert render(tree) is tree
    assert render(fragment()) == fragment()


def test_roots() -> None:
    assert render(Rows.use(n=0)) == fragment()
    assert render(Rows.use(n=1)) == h.item["0"]
    assert render(Rows.use(n=2)) == fragment(h.item["0"], h.item["1"])
    assert render(TONE.give("x", "bare")) == fragment("bare")
    assert render(fragment(Rows.use(n=1))) == fragment(h.item["0"])


def test_context_is_that_of_the_place() -> None:
    @component
    def Quiet(children: tuple[Node, ...]) -> Element:
        return h.quote[TONE.give("quiet", children)]

    tree = fragment(
        Say.use(),
        TONE.give("loud", Say.use(), Quiet.use(Say.use(), TONE.give("own", Say.use())), Say.use()),
        Say.use(),
    )
    said = [node for _, node in render(tree).walk() if isinstance(node, str)]
    assert said == ["plain", "loud", "quiet", "own", "loud", "plain"]
    assert render(Say.use(), RenderContext({TONE: "given"})) == h.text["given"]


def test_a_value_without_a_default_has_to_be_given() -> None:
    @component
    def Owned(context: RenderContext) -> Element:
        return h.text[context[OWNER]]

    assert render(OWNER.give("Ada", Owned.use())) == h.text["Ada"]
    with pytest.raises(TreeError, match=r"nothing above gives 'owner', at document\[0\] > Owned\[1\]"):
        render(h.document[h.rule, Owned.use()])


def test_renders_at_the_same_time_do_not_see_each_other() -> None:
    barrier = Barrier(4)

    @component
    def Meet(context: RenderContext) -> Element:
        barrier.wait(timeout=10)
        return h.text[context[TONE]]

    page = h.document[Meet.use(), h.quote[Meet.use()]]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda n: render(page, RenderContext({TONE: f"t{n}"})), range(4)))
    assert made == [h.document[h.text[f"t{n}"], h.quote[h.text[f"t{n}"]]] for n in range(4)]


def test_show_and_falsy_children() -> None:
    for when in (True, 1, "x", [0]):
        assert render(h.document[Show.use(h.rule, when=when)]) == h.document[h.rule]
        assert render(h.document[Show.use(h.rule, unless=when)]) == h.document[()]
    items: list[str] = []
    assert h.document[bool(items) and h.list[items], None, [] or h.text["none"]] == h.document[h.text["none"]]


@component
def Broken(kind: str) -> Any:
    if kind == "key":
        return {}["missing"]
    return 7 if kind == "type" else h.item["x"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box.use(titel="x"), r"<Box> takes no prop 'titel'\. It takes: title$"),
        (lambda: Box.use(), r"<Box> needs the prop 'title'"),
        (lambda: Rows.use("x", n=1), r"<Rows> takes no children"),
        (lambda: Say.use(context=1), r"<Say> takes no prop 'context'"),
        (
            lambda: render(h.document[h.quote[h.rule, Broken.use(kind="key")]]),
            r"component Broken failed with KeyError: 'missing', at document\[0\] > quote\[0\] > Broken\[1\]",
        ),
        (lambda: render(Broken.use(kind="type")), r"component Broken returned int, at Broken\[0\]"),
        (
            lambda: render(h.document[Box.use(Broken.use(kind="place"), title="x")]),
            r"<item> cannot stand in <section>, at document\[0\] > Box\[0\] > section\[0\]",
        ),
        (
            lambda: render(h.list[Rows.use(n=1, key="a"), Rows.use(n=2, key="a")]),
            r"two children of <list> have the key 'a'.*at list\[0\]",
        ),
        (
            lambda: render(h.document[Box.use(Broken.use(kind="key"), title="x", key="k")]),
            r"Box#k > section\[0\] > Broken",
        ),
        (lambda: validate(h.document[Say.use()]), r"there is no element <Say>"),
        (lambda: write_jsx(h.document[Say.use()]), r"there is no element <Say>"),
        (lambda: Say.use().digest, r"<Say> is not rendered"),
        (lambda: jsx("<A/>", {"A": lambda: h.rule.element().nothing}), r"component A failed with AttributeError"),
    ],
)
def test_errors_name_the_way(make: Any, words: str) -> None:
    with pytest.raises(TreeError, match=words):
        make()


def test_a_component_without_end() -> None:
    @component
    def Loop() -> Element:
        return h.quote[Loop.use()]

    with pytest.raises(
        TreeError, match=r"deeper than 128 levels, at Loop\[0\] > quote\[0\] … .*Does a component use it"
    ):
        render(Loop.use())


def test_uses_are_frozen_values() -> None:
    one = Box.use("a", title="x")
    assert one == Box.use("a", title="x") and hash(one) == hash(Box.use("a", title="x"))
    assert one != Box.use("b", title="x") and one != Box.use("a", title="y") and one != h.text["a"]
    assert isinstance(one.with_children(("b",)), Pending) and one.with_props(title="y") == Box.use("a", title="y")
    assert repr(one) == "<Box title='x' />"
    with pytest.raises(TypeError, match="frozen"):
        one.tag = "Other"
    assert pickle.loads(pickle.dumps(Show.use("x", when=1))) == Show.use("x", when=1)
