"""The element tree: building, freezing, hashing, and what the vocabulary refuses."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.compose import (
    Density,
    Element,
    band_of,
    component,
    denser,
    fragment,
    h,
    locate,
    shorten,
    shorten_middle,
    text_of,
    validate,
)
from hudkit.compose import visible as shown
from hudkit.errors import TreeError
from strategies import hostile


def test_children_are_spread_and_conditions_left_out() -> None:
    tree = h.list[
        (h.item[str(n)] for n in range(2)), None, False, True and h.item["x"], [h.item[3]], fragment(h.item["y"])
    ]
    assert [text_of(item) for item in tree.children] == ["0", "1", "x", "3", "y"]
    assert h("list", {"ordered": True}, h.item["a"]) == h.list(ordered=True)[h.item["a"]]


def test_elements_are_frozen_and_equal_by_content() -> None:
    one, two = h.text(key="k")["a", "b"], h.text(key="k")["a", "b"]
    assert one == two and hash(one) == hash(two) and one.digest == two.digest
    assert one != h.text(key="k")["ab"] and one.digest != h.text(key="k")["ab"].digest
    assert pickle.loads(pickle.dumps(one)) == one
    with pytest.raises(TypeError, match="frozen"):
        one.tag = "item"
    with pytest.raises(TypeError, match="frozen"):
        del one.tag
    assert one.with_children(one.children) is one
    assert one.with_props(key=None) == h.text["a", "b"]


def test_components_are_functions_and_nothing_is_an_empty_fragment() -> None:
    @component
    def Hello(name: str, loud: bool = False) -> Element | None:
        return h.text[name.upper() if loud else name] if name else None

    assert Hello("you", loud=True) == h.text["YOU"]
    assert h.document[Hello(""), Hello("me")] == h.document[h.text["me"]]
    assert Hello.name == "Hello"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: h.nonsense["x"], "there is no element <nonsense>"),
        (lambda: h.text(onClick="x")["y"], "<text> takes no prop 'onClick'"),
        (lambda: h.section(level="2")[h.text["x"]], "prop 'level' of <section> is '2'"),
        (lambda: h.list(ordered=1)[h.item["x"]], "prop 'ordered' of <list> is 1"),
        (lambda: h.list["bare"], "stands bare in <list>"),
        (lambda: h.list[h.text["x"]], "<text> cannot stand in <list>"),
        (lambda: h.item[h.section(title="x")], "<section> cannot stand in <item>"),
        (lambda: h.text[object()], "object cannot be a child"),
        (lambda: locate(h.document[h.text["x"]], (0, 3)), "no node at path"),
        (lambda: validate(Element("list", (), ("bare",))), "stands bare"),
    ],
)
def test_the_vocabulary_refuses(make: object, words: str) -> None:
    with pytest.raises(TreeError, match=words):
        make()  # type: ignore[operator]


def test_paths_lead_to_nodes() -> None:
    tree = h.document[h.text["a", h.strong["b"]], h.rule]
    for path, node in tree.walk():
        assert locate(tree, path) is node
    assert [node.tag for _, node in tree.walk() if isinstance(node, Element)] == [
        "document",
        "text",
        "strong",
        "rule",
    ]


@given(hostile)
def test_hidden_characters_are_shown(text: str) -> None:
    seen = shown(text)
    assert seen.isprintable() or all(c.isprintable() or ord(c) > 0x7F for c in seen)
    for c in seen:
        code = ord(c)
        assert code >= 0x20 and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF
        assert not (
            0x200B <= code <= 0x200F or 0x2028 <= code <= 0x202E or 0x2060 <= code <= 0x206F or code == 0xFEFF
        )
        assert not 0xE0000 <= code <= 0xE0FFF
    seen.encode()
    assert shown(seen) == seen


@pytest.mark.parametrize(
    ("percent", "band"),
    [(0, "green"), (50, "green"), (69, "green"), (69.9, "green"), (70, "yellow"), (75, "yellow"), (84, "yellow"),
     (85, "red"), (90, "red"), (91, "red"), (92, "critical"), (99, "critical"), (100, "critical"), (130, "critical")],
)  # fmt: skip
def test_bands(percent: float, band: str) -> None:
    assert band_of(percent) == band


def test_densities_get_denser() -> None:
    assert denser(Density.FULL) is Density.COMPACT and denser(Density.MINIMAL) is None


@given(st.text(alphabet="ab \n", max_size=60), st.integers(1, 40))
def test_shortening_in_the_middle_keeps_beginning_and_end(text: str, limit: int) -> None:
    cut = shorten_middle(text, limit)
    head, mark, end = cut.partition("…")
    assert len(cut) <= limit and (cut == text or (mark and text.startswith(head) and text.endswith(end)))
    assert shorten_middle("pytest tests: 12 lines of a traceback, KeyError: 7", 30) == "pytest… KeyError: 7"


def test_shortening_is_within_the_limit_and_marks_the_cut() -> None:
    assert shorten("one two three", 20) == "one two three"
    assert shorten("one two three", 9) == "one two…"
    assert len(shorten("x" * 50, 10)) == 10
