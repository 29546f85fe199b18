"""Raw HTML within a line."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Draft
from hudkit.compose.formats.markdown.pen import Pen
from hudkit.compose.formats.mdast import InlineHtml


def html(node: InlineHtml, draft: Draft, _pen: Pen) -> None:
    """As it is; in a cell its bars are escaped, and where the block is one line, so is it."""
    value = node.value if draft.shape.breaks else node.value.replace("\n", " ")
    draft.raw(value.replace("|", "\\|") if draft.shape.block == "cell" else value)
