"""Markdown to nodes: markdown-it-py reads, its tokens become a tree."""

from __future__ import annotations

from functools import cache

from markdown_it import MarkdownIt

from hudkit.compose.formats.markdown.footnotes import footnotes
from hudkit.compose.formats.markdown.read_flow import blocks
from hudkit.compose.formats.mdast import Root

DEPTH = 100
"""How deep quotes and lists may nest; what is deeper is left out by the parser."""


@cache
def _reader(gfm: bool) -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"maxNesting": DEPTH, "strikethrough_single_tilde": gfm})
    # escapes stay tokens of their own: an escaped character is no part of a literal link
    reader.disable("text_join")
    if gfm:
        reader.enable(["table", "strikethrough"])
        footnotes(reader)
    return reader


def parse(text: str, *, gfm: bool = False) -> Root:
    """The document that a text is, by CommonMark 0.31; with `gfm` also tables, strikethrough, task items, footnotes
    and literal links.

    References to links are resolved, and their definitions are no nodes. A literal link that can be written as it
    stands is a `BareUrl` (in text that is no link to a reader, only if the writer would leave it so), any other a
    `Link`.
    """
    return Root(blocks(_reader(gfm).parse(text), gfm))
