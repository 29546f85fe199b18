"""Items of lists."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.siblings import empty, ordered, stack
from hudkit.compose.formats.mdast import Flow, ListItem, Paragraph


def item(node: ListItem, place: Place, pen: Pen) -> str:
    """Its blocks after the marker and below it; written alone, an item of a tight bullet list."""
    marker = place.marker or "-"
    first = node.children[0] if node.children else None
    task = node.checked is not None and isinstance(first, Paragraph) and not empty(first)

    def write(child: Flow, chosen: str) -> str:
        return pen.flow(child, Place(chosen, first="item" if child is first and not task else ""))

    text = ("\n" if place.loose else "").join(stack(node.children, ordered, write, avoid=marker[-1]))
    if task and text:
        text = f"[{'x' if node.checked else ' '}] {text}"
    if not text:
        return f"{marker}\n"
    indent = " " * (len(marker) + 1)
    lines = text[:-1].split("\n")
    below = "".join(f"{indent}{line}\n" if line else "\n" for line in lines[1:])
    return f"{marker} {lines[0]}\n{below}"
