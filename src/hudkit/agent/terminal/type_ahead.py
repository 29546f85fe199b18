"""What is typed while no prompt is up: it is shown, edited and queued, and sent when the work is done.

The terminal hands over single keys from the first to the last moment of a conversation. So the Enter of a line that
was typed too early, or while the agent works, still means Enter at the next prompt.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import termios
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from hudkit.agent.terminal.screen import Screen, clip, one_line

if TYPE_CHECKING:
    from prompt_toolkit.key_binding.key_processor import KeyPress

_CHUNK = 65_536
_SHOWN = 3
"""Queued lines that are shown; the others are counted."""

_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
"""Ask the terminal to say where pasted text begins and ends: the line ends in it are no Enter."""


class TypeAhead:
    """The lines that a person has typed ahead, and the one that is being typed."""

    def __init__(self, fd: int, screen: Screen) -> None:
        from prompt_toolkit.input.vt100_parser import Vt100Parser

        self._fd = fd
        self._screen = screen
        self._queue: deque[str] = deque()
        self._draft = ""
        self._escaped = False
        self._finished = asyncio.Event()
        self._finished.set()
        self._question = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parser = Vt100Parser(self._press)
        self._before = termios.tcgetattr(fd)

    def open(self) -> None:
        """Take the terminal's keys one by one from now on, those that were typed before too; return nothing."""
        mode = termios.tcgetattr(self._fd)
        mode[0] &= ~termios.ICRNL  # Enter stays a carriage return, which no pasted or written line feed is
        mode[3] &= ~(termios.ECHO | termios.ICANON)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)
        while select.select([self._fd], [], [], 0)[0]:
            typed = os.read(self._fd, _CHUNK)
            if not typed:
                return
            # the terminal has made a line feed of each Enter until now
            self._feed(typed.replace(b"\n", b"\r"))

    def close(self) -> None:
        """Give the terminal back as it was; return nothing."""
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @contextmanager
    def listening(self, stored: Iterable[KeyPress] = ()) -> Iterator[None]:
        """Take what is typed while the block runs; `stored` are keys that the prompt before did not need."""
        for press in stored:
            self._press(press)
        self._write(_PASTE_ON)
        asyncio.get_running_loop().add_reader(self._fd, self._read)
        try:
            yield
        finally:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._write(_PASTE_OFF)

    @contextmanager
    def cooked(self) -> Iterator[None]:
        """Leave the terminal as it was before the conversation while the block runs."""
        mode = termios.tcgetattr(self._fd)
        self.close()
        try:
            yield
        finally:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Leave the keys to a question while the block runs."""
        loop = asyncio.get_running_loop()
        was_listening = loop.remove_reader(self._fd)
        try:
            yield
        finally:
            if was_listening:
                loop.add_reader(self._fd, self._read)

    async def line_finished(self) -> None:
        """Wait until no line is half typed: its next key must not answer a question. Return nothing."""
        self._question = True
        try:
            await self._finished.wait()
        finally:
            self._question = False

    def has_line(self) -> bool:
        """Return whether a line is queued."""
        return bool(self._queue)

    def take_line(self) -> str | None:
        """Return the next queued line, which then has left the queue; `None` where there is none."""
        return self._queue.popleft() if self._queue else None

    def take_draft(self) -> str:
        """Return the line that is half typed, which then is the caller's."""
        draft = self._draft
        self._change("")
        return draft

    def recall(self) -> None:
        """Put what is queued back into the line: it is not sent by itself. Return nothing."""
        self._change("\n".join((*self._queue, self._draft) if self._draft else self._queue))
        self._queue.clear()

    def lines(self) -> list[Text]:
        """Return what is queued and what is being typed, as lines for the screen."""
        columns = self._screen.columns
        lines = [Text(clip(f"queued: {text}", columns), "dim") for text in list(self._queue)[:_SHOWN]]
        if len(self._queue) > _SHOWN:
            lines.append(Text(f"and {len(self._queue) - _SHOWN} more", "dim"))
        if self._draft:
            if self._question:
                words = "a question waits for your line: Enter queues it, Ctrl-U clears it"
                lines.append(Text(clip(words, columns), "bold yellow"))
            # the end of a long line is where it is being typed
            lines.append(Text(f"› {one_line(self._draft)[-(columns - 3) :]}", "bold"))
        return lines

    def _read(self) -> None:
        try:
            typed = os.read(self._fd, _CHUNK)
        except OSError:  # the terminal is gone
            typed = b""
        if typed:
            self._feed(typed)
        else:
            asyncio.get_running_loop().remove_reader(self._fd)

    def _feed(self, typed: bytes) -> None:
        self._parser.feed(self._decoder.decode(typed))

    def _press(self, press: KeyPress) -> None:
        from prompt_toolkit.keys import Keys

        escaped, self._escaped = self._escaped, press.key == Keys.Escape
        match press.key:
            case Keys.ControlM if not escaped:
                if self._draft.strip():
                    self._queue.append(self._draft)
                self._change("")
            case Keys.ControlM | Keys.ControlJ:
                self._change(f"{self._draft}\n")
            case Keys.ControlH:
                self._change(self._draft[:-1])
            case Keys.ControlU:
                self._change("")
            case Keys.ControlW:
                self._change(self._draft.rstrip().rpartition(" ")[0])
            case Keys.Up if self._queue:
                self._change("\n".join(filter(None, (self._queue.pop(), self._draft))))
            case Keys.BracketedPaste:
                self._change(self._draft + press.data.replace("\r\n", "\n").replace("\r", "\n"))
            case Keys():
                pass  # other keys edit nothing here
            case _:
                self._change(self._draft + press.data)

    def _change(self, draft: str) -> None:
        self._draft = draft
        if draft:
            self._finished.clear()
        else:
            self._finished.set()

    def _write(self, sequence: str) -> None:
        self._screen.out.write(sequence)
        self._screen.out.flush()
