"""An output: lines that stay, and below them a few that are drawn again; what is no terminal gets lines only.

Text of models and tools is made safe here: characters that hide, move or command are written out.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from typing import TextIO

from rich.cells import cell_len, set_cell_size
from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from hudkit.compose import visible

_MOST_COLUMNS = 120
"""Lines that are longer are hard to read; a wider terminal stays empty at its right."""

_PIPED_COLUMNS = 100
_HELD = 12
"""Lines at most that are drawn again."""


class Screen:
    """Every text that goes through it is made safe (`visible`), whatever it came from."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.terminal = out.isatty() and os.environ.get("TERM") not in ("dumb", "")
        self.colours = self.terminal and not os.environ.get("NO_COLOR")
        self._held: list[str] = []
        self._widths: list[int] = []

    @property
    def columns(self) -> int:
        """Return the cells of a line, one less than there are: a full line makes some terminals begin another."""
        return max(20, min(self._size().columns - 1, _MOST_COLUMNS)) if self.terminal else _PIPED_COLUMNS

    def put(self, *lines: Text) -> None:
        """Write lines that stay; return nothing."""
        self._draw(lines, self._held, self._widths)

    def hold(self, lines: Sequence[Text] = ()) -> None:
        """Show lines below all others until they are held anew; return nothing.

        Nothing is shown where no cursor moves.
        """
        if not self.terminal:
            return
        lines = list(lines)[-max(1, min(_HELD, self._size().lines - 2)) :]
        texts = [self._encoded(line) for line in lines]
        if texts != self._held:
            self._draw((), texts, [cell_len(line.plain) for line in lines])

    def _draw(self, lines: Sequence[Text], held: list[str], widths: list[int]) -> None:
        pieces = [self._erasing()] if self._held else []
        pieces += [f"{self._encoded(line)}\n" for line in lines]
        pieces.append("\n".join(held))
        self._held, self._widths = held, widths
        self.out.write("".join(pieces))
        self.out.flush()

    def _erasing(self) -> str:
        """Back to where what is held begins; lines that a narrower terminal has broken count as often. Line by line:
        some terminals keep what is erased to the end of the screen in their history."""
        columns = self._size().columns or 1
        rows = sum(max(1, -(-width // columns)) for width in self._widths)
        return "\r\x1b[2K" + "\x1b[1A\x1b[2K" * (rows - 1)

    def _encoded(self, line: Text) -> str:
        parts = []
        for text, style, _ in line.render(_CONSOLE, end=""):
            text = visible(text)
            parts.append(style.render(text, color_system=ColorSystem.STANDARD) if style and self.colours else text)
        return "".join(parts)

    def _size(self) -> os.terminal_size:
        with suppress(OSError):
            size = os.get_terminal_size(self.out.fileno())
            if size.columns:  # some terminals of containers and scripts have none: nobody told them
                return size
        return shutil.get_terminal_size()


_CONSOLE = Console(color_system=None, force_terminal=False, legacy_windows=False)


def styled_pieces(line: Text) -> list[tuple[str, str]]:
    """Return the pieces of a line, each with its style in rich's words (`bold red`, `none`)."""
    return [(segment.text, str(segment.style or "none")) for segment in line.render(_CONSOLE, end="")]


def wrap_text(text: str, columns: int, *, style: str = "", indent: str = "") -> list[Text]:
    """Return words as lines of at most `columns` cells, each behind `indent`."""
    lines: list[Text] = []
    for line in text.split("\n"):
        for part in Text(line, style).wrap(_CONSOLE, max(20, columns - cell_len(indent)), overflow="fold"):
            part.rstrip()
            lines.append(Text.assemble(indent, part))
    return lines


def wrap_styled(line: Text, columns: int) -> list[Text]:
    """Return a line as lines of at most `columns` cells, broken between words, all as far to the right as the first.

    A word that is longer than a line is broken where it has to be.
    """
    if cell_len(line.plain) <= columns:
        return [line]
    indent = line.plain[: len(line.plain) - len(line.plain.lstrip())][: columns // 2]
    parts = line[len(indent) :].wrap(_CONSOLE, columns - len(indent), overflow="fold")
    for part in parts:
        part.rstrip()
    return [Text.assemble(indent, part) for part in parts]


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a person is at the other end of a stream."""
    return stream is not None and not stream.closed and stream.isatty()


_TAB = 4

_JOINED = re.compile("(?<=[©®‼-㊙\U0001f000-\U0001faff#*0-9])[\ufe0e\ufe0f\u200d]+")
"""What only tells how a symbol before it is drawn; terminals disagree on its width."""


def printable(text: str) -> str:
    """Return text over several lines, each safe to print; tabs are spaces, and every line feed stays one."""
    text = _JOINED.sub("", text).replace("\r\n", "\n").expandtabs(_TAB)
    return visible(text, breaks=True)


def one_line(text: str) -> str:
    """Return text in one line that is safe to print: white space of any kind is one space."""
    return visible(" ".join(_JOINED.sub("", text).split()))


def clip(text: str, cells: int) -> str:
    """Return one line of text in at most so many cells, with a mark where something is left out."""
    text = one_line(text)
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""
