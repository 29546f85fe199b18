"""Tables (GFM)."""

from __future__ import annotations

from hudkit.compose.formats.markdown.draft import Shape
from hudkit.compose.formats.markdown.pen import Pen, Place
from hudkit.compose.formats.mdast import Cell, Row, Table

_DASHES = {"": "---", "left": ":--", "center": ":-:", "right": "--:"}


def table(node: Table, place: Place, pen: Pen) -> str:
    """The head, a line of dashes, the other rows; all as wide as the widest, so that no cell is lost."""
    columns = max((len(row.children) for row in node.children), default=0)
    if not columns:
        return ""
    head, *rows = (row(_padded(one, columns), place, pen) for one in node.children)
    align = (*node.align, *("" for _ in range(columns)))[:columns]
    dashes = "| " + " | ".join(_DASHES[one] for one in align) + " |\n"
    return head + dashes + "".join(rows)


def _padded(node: Row, columns: int) -> Row:
    return Row(node.children + (Cell(()),) * (columns - len(node.children)))


def row(node: Row, _place: Place, pen: Pen) -> str:
    """One line."""
    if not node.children:
        return "|  |\n"
    cells = (pen.line(cell.children, Shape("cell", breaks=False)) for cell in node.children)
    return "| " + " | ".join(cells) + " |\n"
