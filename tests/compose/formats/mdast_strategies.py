"""Documents of every kind of node, at random."""

from __future__ import annotations

from typing import Any

from hostile import PIECES
from hypothesis import strategies as st

from hudkit.compose.formats import mdast

_text = st.one_of(
    st.sampled_from(["a", "b c", "(x)", ": y"]), st.lists(st.sampled_from(PIECES), max_size=3).map("".join)
)
_label = st.sampled_from(["1", "a b", "x]y", "é", "*", "A"])
_href = st.sampled_from(["/u", "https://a.b/c", "a b", "", "javascript:x", "/(x"])
_title = st.sampled_from([None, "t", 'a "b"'])
_leaf: st.SearchStrategy[Any] = st.one_of(
    st.builds(mdast.Text, _text),
    st.builds(mdast.InlineCode, _text),
    st.builds(mdast.FootnoteReference, _label),
    st.builds(mdast.Image, _href, _text, _title),
    st.just(mdast.Break()),
)


def _stretches(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    children = st.lists(inner, max_size=3).map(tuple)
    kinds = (mdast.Strong, mdast.Emphasis, mdast.Delete)
    return st.one_of(
        st.builds(lambda kind, c: kind(c), st.sampled_from(kinds), children),
        st.builds(mdast.Link, _href, children, _title),
    )


_line = st.lists(st.recursive(_leaf, _stretches, max_leaves=5), max_size=4).map(tuple)
_cells = st.lists(st.builds(mdast.Cell, _line), max_size=3).map(tuple)
_block: st.SearchStrategy[Any] = st.one_of(
    st.builds(mdast.Paragraph, _line),
    st.builds(mdast.Heading, st.integers(1, 6), _line),
    st.builds(mdast.CodeBlock, _text, _text),
    st.just(mdast.ThematicBreak()),
    st.builds(mdast.Table, st.lists(st.builds(mdast.Row, _cells), max_size=3).map(tuple)),
)


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    children = st.lists(inner, max_size=3).map(tuple)
    items = st.lists(st.builds(mdast.ListItem, children, st.sampled_from([None, True, False])), max_size=3).map(tuple)
    return st.one_of(
        st.builds(mdast.Quote, children),
        st.builds(mdast.List, items, st.booleans(), st.integers(0, 12), st.booleans()),
        st.builds(mdast.FootnoteDefinition, _label, children),
    )


roots = st.builds(mdast.Root, st.lists(st.recursive(_block, _containers, max_leaves=5), max_size=4).map(tuple))
"""Whole documents."""
