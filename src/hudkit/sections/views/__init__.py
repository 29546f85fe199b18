"""What to show: state to element tree, one file a section."""

from hudkit.sections.views.board import SECTIONS, Board
from hudkit.sections.views.changes import Changes, Known, block, changes
from hudkit.sections.views.gauge import gauge, outlook, reading, warning
from hudkit.sections.views.section import View

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
