"""Headings."""

from __future__ import annotations

import re

from hudkit.compose.formats.markdown.draft import Shape
from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.siblings import underlined
from hudkit.compose.formats.mdast import Heading

_HARD_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\\n")


def heading(node: Heading, place: Place, pen: Pen) -> str:
    """One line after number signs; two lines or more over an underline where there is a hard break."""
    if underlined(node):
        line = pen.line(node.children, Shape("paragraph", first=place.first))
        if _HARD_BREAK.search(line):
            return f"{line}\n{'===' if node.depth == 1 else '---'}\n"
    line = pen.line(node.children, Shape("heading", breaks=False))
    return f"{'#' * min(max(node.depth, 1), 6)} {line}".rstrip(" ") + "\n"
