"""Documents."""

from __future__ import annotations

from hudkit.formats.markdown.pen import Pen, Place
from hudkit.formats.markdown.siblings import ordered, stack
from hudkit.formats.mdast import Root


def root(node: Root, _place: Place, pen: Pen) -> str:
    """Blocks, a blank line between each two."""
    return "\n".join(stack(node.children, ordered, lambda child, marker: pen.flow(child, Place(marker))))
