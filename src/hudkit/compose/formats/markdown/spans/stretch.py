"""Strong, emphasised and struck stretches."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.mdast import Delete, Emphasis, Strong


def strong(node: Strong, draft: Draft, pen: Pen) -> None:
    """Two markers on each side."""
    pair = draft.open("strong")
    pen.span(node.children, draft)
    draft.close(pair)


def emphasis(node: Emphasis, draft: Draft, pen: Pen) -> None:
    """One marker on each side."""
    pair = draft.open("emphasis")
    pen.span(node.children, draft)
    draft.close(pair)


def delete(node: Delete, draft: Draft, pen: Pen) -> None:
    """Two tildes on each side."""
    pair = draft.open("delete")
    pen.span(node.children, draft)
    draft.close(pair)
