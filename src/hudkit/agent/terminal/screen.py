"""An output: lines that stay, and below them a few that are drawn again; what is no terminal gets lines only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console
from rich.text import Text

from hudkit.compose import visible

MOST_COLUMNS = 120
"""Lines that are longer are hard to read; a wider terminal stays empty at its right."""

PIPED_COLUMNS = 100
HELD = 12
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
        """Cells of a line, one less than there are: a full line would make some terminals begin another."""
        return max(20, min(self._size().columns - 1, MOST_COLUMNS)) if self.terminal else PIPED_COLUMNS

    def put(self, *lines: Text) -> None:
        """Lines that stay."""
        self._draw(lines, self._held, self._widths)

    def hold(self, lines: Sequence[Text] = ()) -> None:
        """Lines that stand below all others until they are held anew; nothing where no cursor moves."""
        if not self.terminal:
            return
        lines = list(lines)[-max(1, min(HELD, self._size().lines - 2)) :]
        texts = [self._encoded(line) for line in lines]
        if texts != self._held:
            self._draw((), texts, [cell_len(line.plain) for line in lines])

    def _draw(self, lines: Sequence[Text], held: list[str], widths: list[int]) -> None:
        said = [self._erasing()] if self._held else []
        said += [f"{self._encoded(line)}\n" for line in lines]
        said.append("\n".join(held))
        self._held, self._widths = held, widths
        self.out.write("".join(said))
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
        try:
            return os.get_terminal_size(self.out.fileno())
        except OSError:
            return shutil.get_terminal_size()


_CONSOLE = Console(color_system=None, force_terminal=False, legacy_windows=False)


def wrapped(text: str, columns: int, *, style: str = "", indent: str = "") -> list[Text]:
    """Words as lines of at most `columns` cells, each behind `indent`."""
    found: list[Text] = []
    for line in text.split("\n"):
        for part in Text(line, style).wrap(_CONSOLE, max(20, columns - cell_len(indent)), overflow="fold"):
            part.rstrip()
            found.append(Text.assemble(indent, part))
    return found


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody is there: a stream that can be read from, or written to, by a person."""
    return stream is not None and not stream.closed and stream.isatty()
