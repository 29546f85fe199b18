"""Lists."""

from __future__ import annotations

from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.markdown.siblings import MARKERS, loose
from hudkit.compose.formats.mdast import List

LARGEST = 999_999_999
"""The largest number of an item that CommonMark reads."""


def list_(node: List, place: Place, pen: Pen) -> str:
    """Its items; a blank line between them if it is loose, or if the blocks of an item need one."""
    marker = place.marker or MARKERS[node.ordered][0]
    apart = loose(node)
    start = max(min(node.start, LARGEST - len(node.children)), 0)
    texts = [
        pen.flow(item, Place(f"{start + n}{marker}" if node.ordered else marker, apart))
        for n, item in enumerate(node.children)
    ]
    return ("\n" if apart else "").join(texts)
