"""Thematic breaks."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.mdast import ThematicBreak


def rule(_node: ThematicBreak, _place: Place, _pen: Pen) -> str:
    """Asterisks: hyphens could underline a heading, or open front matter."""
    return "***\n"
