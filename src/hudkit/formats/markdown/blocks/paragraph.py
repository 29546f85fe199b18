"""Paragraphs."""

from __future__ import annotations

from hudkit.formats.markdown.draft import Shape
from hudkit.formats.markdown.pen import Pen, Place
from hudkit.formats.mdast import Paragraph


def paragraph(node: Paragraph, place: Place, pen: Pen) -> str:
    """One line for each line of text."""
    line = pen.line(node.children, Shape("paragraph", first=place.first))
    return f"{line}\n" if line else ""
