"""Quotes."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.siblings import ordered, stack
from hudkit.compose.formats.mdast import Flow, Quote


def quote(node: Quote, _place: Place, pen: Pen) -> str:
    """Each line after `>`."""
    first = node.children[0] if node.children else None

    def write(child: Flow, marker: str) -> str:
        return pen.flow(child, Place(marker, first="quote" if child is first else ""))

    text = "\n".join(stack(node.children, ordered, write))
    if not text:
        return ">\n"
    return "".join(f"> {line}\n" if line else ">\n" for line in text[:-1].split("\n"))
