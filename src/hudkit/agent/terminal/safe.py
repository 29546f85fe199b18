"""Text of models and tools as a terminal may get it: characters that hide, move or command are written out."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

from hudkit.compose import visible

TAB = 4

_JOINED = re.compile("(?<=[©®‼-㊙\U0001f000-\U0001faff#*0-9])[\ufe0e\ufe0f\u200d]+")
"""What only tells how a symbol before it is drawn; terminals disagree on its width."""


def shown(text: str) -> str:
    """Text over several lines, each safe to print; tabs are spaces, and every line feed stays one."""
    text = _JOINED.sub("", text).replace("\r\n", "\n").expandtabs(TAB)
    return visible(text, breaks=True)


def one_line(text: str) -> str:
    """The same in one line: white space of any kind is one space."""
    return visible(" ".join(_JOINED.sub("", text).split()))


def clipped(text: str, cells: int) -> str:
    """One line of text in at most so many cells, with a mark where something is left out."""
    text = one_line(text)
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""
