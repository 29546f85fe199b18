"""What footnotes say (GFM)."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.references import label
from hudkit.compose.formats.markdown.siblings import ordered, stack
from hudkit.compose.formats.mdast import Flow, FootnoteDefinition

_INDENT = "    "


def definition(node: FootnoteDefinition, _place: Place, pen: Pen) -> str:
    """Its blocks after the label and below it, four spaces in."""
    first = node.children[0] if node.children else None

    def write(child: Flow, marker: str) -> str:
        return pen.flow(child, Place(marker, first="note" if child is first else ""))

    text = "\n".join(stack(node.children, ordered, write))
    begin = f"[^{label(node.label)}]:"
    if not text:
        return f"{begin}\n"
    lines = text[:-1].split("\n")
    below = "".join(f"{_INDENT}{line}\n" if line else "\n" for line in lines[1:])
    return f"{begin} {lines[0]}\n{below}"
