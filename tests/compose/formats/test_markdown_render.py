"""Element trees to Markdown: the vocabulary, and that what is remembered never shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hostile import PIECES
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.compose import TAGS, Element, Node, h, visible
from hudkit.compose.formats import mdast
from hudkit.compose.formats.markdown import parse, render, write
from hudkit.compose.formats.mdast_tree import to_mdast

_CASE = re.compile(r"^(?P<title>[^\n]+)\n\.\n(?P<tree>.*?)\n\.\n(?P<expected>.*?)^\.$", re.MULTILINE | re.DOTALL)
CASES = [match.groups() for match in _CASE.finditer((Path(__file__).parent / "vocabulary.md").read_text())]


@pytest.mark.parametrize(("title", "tree", "expected"), CASES, ids=[case[0] for case in CASES])
def test_vocabulary(title: str, tree: str, expected: str) -> None:
    element = eval(tree, {"h": h})
    element = element if isinstance(element, Element) else element.element()
    assert render(element) == expected
    assert write(to_mdast(element)) == expected


def test_the_goldens_cover_the_vocabulary() -> None:
    shown = " ".join(case[1] for case in CASES)
    assert [tag for tag in TAGS if f"h.{tag}" not in shown] == []


_text = st.one_of(st.text(max_size=12), st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join))
_spans = st.recursive(
    _text,
    lambda inner: st.one_of(
        st.builds(
            lambda tag, children: h(tag, {}, *children),
            st.sampled_from(["strong", "emphasis", "strike"]),
            st.lists(inner, max_size=3),
        ),
        st.builds(lambda text: h.code[text], _text),
        st.builds(lambda text: h.link(href="/u")[text], _text),
    ),
    max_leaves=4,
)
_line = st.lists(_spans, max_size=3)
_item = st.one_of(
    st.builds(lambda line: h.item[line], _line), st.builds(lambda n: h.more(hidden=n), st.integers(0, 9))
)
_block = st.one_of(
    st.builds(lambda line: h.text[line], _line),
    st.builds(lambda items: h.list[items], st.lists(_item, max_size=4)),
    st.builds(lambda items: h.list(ordered=True)[items], st.lists(_item, max_size=4)),
    st.builds(lambda text: h.pre[text], _text),
    st.builds(lambda n: h.more(hidden=n, noun="x"), st.integers(0, 9)),
    st.just(h.rule.element()),
    st.builds(
        lambda cells: h.table[(h.row[(h.cell[line] for line in row)] for row in cells)],
        st.lists(st.lists(_line, max_size=3), max_size=3),
    ),
)
_flow = st.recursive(
    _block,
    lambda inner: st.one_of(
        st.builds(lambda title, body: h.section(title=title)[body], _text, st.lists(inner, max_size=3)),
        st.builds(lambda body: h.section[body], st.lists(inner, max_size=3)),
        st.builds(lambda body: h.quote[body], st.lists(inner, max_size=2)),
    ),
    max_leaves=8,
)
_documents = st.builds(lambda body: h.document[body], st.lists(_flow, max_size=4))


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(tree=_documents)
def test_remembering_never_shows(tree: Element) -> None:
    expected = write(to_mdast(tree))
    assert render(tree) == expected
    assert render(tree) == expected
    for section in tree.children:
        assert isinstance(section, Element)
        assert render(section) == write(to_mdast(section))


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(tree=_documents)
def test_a_document_has_exactly_the_headings_of_its_sections(tree: Element) -> None:
    titles = [
        title
        for _, node in tree.walk()
        if isinstance(node, Element) and node.tag == "section" and (title := visible(node.get("title", "")).strip())
    ]
    for gfm in (False, True):
        assert len(_headings(parse(render(tree), gfm=gfm))) == len(titles)


def _headings(node: mdast.Mdast) -> list[mdast.Heading]:
    if isinstance(node, mdast.Heading):
        return [node]
    return [found for child in getattr(node, "children", ()) for found in _headings(child)]


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(texts=st.lists(_text, min_size=1, max_size=5))
def test_one_item_is_one_line_and_one_item(texts: list[str]) -> None:
    written = render(h.list[(h.item[text] for text in texts)])
    assert written.count("\n") == len(texts)
    assert written == "".join(render(h.item[text]) for text in texts)
    for gfm in (False, True):
        (found,) = parse(written, gfm=gfm).children
        assert isinstance(found, mdast.List) and len(found.children) == len(texts)


@pytest.mark.slow
@settings(deadline=None, max_examples=100)
@given(text=st.text(max_size=60))
def test_rendered_text_has_no_hidden_character_but_line_feeds(text: str) -> None:
    nodes: list[Node] = [
        h.text[text],
        h.pre[text],
        h.list[h.item[h.code[text], h.strong[text]]],
        h.section(title=text),
    ]
    written = render(h.document[nodes])
    hidden = re.compile(
        "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
    )
    assert not hidden.search(written)
    written.encode()


def test_blocks_begin_with_no_space_and_their_texts_add_up() -> None:
    blocks = [h.text["a"], h.list[h.item[" b "]], h.pre["  c"], h.quote[h.text["d"]], h.section(title="e")[h.rule]]
    rendered = [render(block) for block in blocks]
    assert all(text[0] != " " and text.endswith("\n") and not text.endswith("\n\n") for text in rendered)
    assert render(h.document[blocks]) == "\n".join(rendered)
