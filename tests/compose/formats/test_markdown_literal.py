"""Text is data: whatever it contains, and wherever it stands, it is read back as the same text and nothing else."""

from __future__ import annotations

import re

import pytest
from hostile import GFM_ONLY, LITERALS, PLACES, hostile, shape, texts, trimmed
from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import Campaign
from hudkit.compose.formats.markdown import parse, write
from hudkit.compose.formats.mdast import CodeBlock, Image, InlineCode, List, Quote, Root, text_of

TEXTS = Campaign("markdown", quick=1000, full=100_000)
pytestmark = pytest.mark.slow


def _check(place: str, text: str) -> None:
    node = PLACES[place](text)
    written = write(node)
    assert written.endswith("\n") and not written.endswith("\n\n"), (place, text, written)
    for gfm in (False, True):
        if place in GFM_ONLY and not gfm:
            continue
        back = parse(written, gfm=gfm)
        assert shape(back) == shape(node), (place, gfm, text, written)
        assert [trimmed(one) for one in texts(back)] == [trimmed(one) for one in texts(node)], (place, text, written)
        assert write(back) == written, (place, gfm, text)


@TEXTS
@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_stays_text(place: str) -> None:
    for text in hostile(TEXTS.seed(11), TEXTS.rounds):
        if trimmed(text):
            _check(place, text)


@pytest.mark.parametrize("place", PLACES)
@settings(deadline=None, max_examples=60)
@given(text=st.text(min_size=1, max_size=40).filter(trimmed))
def test_any_text_stays_text(place: str, text: str) -> None:
    _check(place, text)


def _value(root: Root) -> str:
    node = root.children[0]
    while isinstance(node, List | Quote):
        node = node.children[0].children[0] if isinstance(node, List) else node.children[0]
    if isinstance(node, CodeBlock):
        return node.value
    (inner,) = node.children
    assert isinstance(inner, InlineCode | Image)
    return inner.value if isinstance(inner, InlineCode) else inner.alt


def _literal(place: str, text: str) -> None:
    node = LITERALS[place](text)
    written = write(node)
    for gfm in (False, True):
        back = parse(written, gfm=gfm)
        assert shape(back) == shape(node), (place, text, written)
        ends = re.sub(r"\r\n?", "\n", text).replace("\x00", "\ufffd")
        given_text = _value(back)
        if place == "image":
            assert trimmed(given_text) == trimmed(text), (place, text, written)
        elif place == "code":
            assert given_text == ends.replace("\n", " "), (place, text, written)
        else:
            assert given_text == ends, (place, text, written)
        assert write(back) == written, (place, text)


@TEXTS
@pytest.mark.parametrize("place", LITERALS)
def test_hostile_text_is_kept_exactly_in_code_and_descriptions(place: str) -> None:
    for text in hostile(TEXTS.seed(17), TEXTS.rounds):
        _literal(place, text)


@pytest.mark.parametrize("place", LITERALS)
@settings(deadline=None, max_examples=60)
@given(text=st.text(min_size=1, max_size=40))
def test_any_text_is_kept_exactly_in_code_and_descriptions(place: str, text: str) -> None:
    _literal(place, text)


def test_lone_surrogates_become_the_replacement_character() -> None:
    for make in (*PLACES.values(), *LITERALS.values()):
        written = write(make("a\ud800b"))
        assert "a\ufffdb" in written
        written.encode()


@settings(deadline=None, max_examples=80)
@given(text=st.lists(st.sampled_from(["http://a.b", "www.a.b", "a@b.cd", "~~x~~", "~x~", " ", "x", "(", ")"])))
def test_gfm_finds_no_link_and_no_strike_in_text(text: list[str]) -> None:
    value = "".join(text)
    back = parse(write(PLACES["paragraph"](value)), gfm=True)
    assert text_of(back).strip() == value.strip()
    assert all(len(block.children) == 1 for block in back.children)  # type: ignore[union-attr]
