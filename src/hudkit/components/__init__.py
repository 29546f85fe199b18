"""What to show: state to element tree, one file a section."""

from hudkit.components.board import SECTIONS, Board
from hudkit.components.changes import Changes, Known, block, changes
from hudkit.components.gauge import gauge, outlook, reading, warning
from hudkit.components.section import View

__all__ = [
    "SECTIONS",
    "Board",
    "Changes",
    "Known",
    "View",
    "block",
    "changes",
    "gauge",
    "outlook",
    "reading",
    "warning",
]
