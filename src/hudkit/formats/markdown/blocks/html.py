"""Raw HTML blocks."""

from __future__ import annotations

from hudkit.formats.markdown.pen import Pen, Place
from hudkit.formats.mdast import HtmlBlock


def html(node: HtmlBlock, place: Place, _pen: Pen) -> str:
    """As it is; at the start of an item without its indent, which would move the item's."""
    value = node.value.strip("\n")
    if place.first == "item":
        value = value.lstrip(" ")
    return f"{value}\n" if value else ""
