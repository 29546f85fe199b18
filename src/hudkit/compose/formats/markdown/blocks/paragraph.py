"""Paragraphs."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Shape
from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.mdast import Paragraph


def paragraph(node: Paragraph, place: Place, pen: Pen) -> str:
    """One line for each line of text."""
    line = pen.line(node.children, Shape("paragraph", first=place.first))
    return f"{line}\n" if line else ""
