"""Raw HTML blocks."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.mdast import HtmlBlock


def html(node: HtmlBlock, place: Place, _pen: Pen) -> str:
    """As it is; at the start of an item or a footnote without its indent, which would move the other lines'."""
    value = node.value.strip("\n")
    if place.first in ("item", "note"):
        value = value.lstrip(" ")
    return f"{value}\n" if value else ""
