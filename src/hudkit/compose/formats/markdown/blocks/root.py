"""Documents."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.siblings import ordered, stack
from hudkit.compose.formats.mdast import Root


def root(node: Root, _place: Place, pen: Pen) -> str:
    """Blocks, a blank line between each two."""
    return "\n".join(stack(node.children, ordered, lambda child, marker: pen.flow(child, Place(marker))))
