"""A command with a terminal for its output: what is on it, with colours and without."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from waiting import PATIENCE

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(*argv: object, env: Mapping[str, str], columns: int = 80) -> str:
    """What a command writes on a terminal of so many columns, escape sequences included."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    words = [sys.executable, "-m", "hudkit", *map(str, argv)]
    child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, env=dict(env))
    os.close(slave)
    pieces = []
    try:
        while piece := os.read(master, 65_536):
            pieces.append(piece)
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(master)
    _, errors = child.communicate(timeout=PATIENCE)
    assert b"Traceback" not in errors, errors.decode()
    return b"".join(pieces).decode().replace("\r\n", "\n")


def plain(text: str) -> str:
    """The text without its colours."""
    return ESCAPE.sub("", text)


class Dialog:
    """A command at a terminal of its own, with somebody at the keys."""

    def __init__(self, master: int, child: subprocess.Popen[bytes]) -> None:
        self._master = master
        self._child = child
        self._written = b""
        self._seen_upto = 0

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def wait(self, *words: str) -> str:
        """What was written since the last wait, without colours, once it has these words, in this order."""
        pattern = re.compile(".*".join(map(re.escape, words)), re.DOTALL)
        end = time.monotonic() + PATIENCE
        while True:
            new = plain(self._written[self._seen_upto :].decode("utf-8", "replace")).replace("\r", "")
            if match := pattern.search(new):
                self._seen_upto = len(self._written)
                return match.string
            if not self._read(end - time.monotonic()):
                break
        raise AssertionError(f"{words} did not come: {self._written.decode('utf-8', 'replace')}")

    def ends(self) -> int:
        """The exit code, once the command has ended."""
        while self._read(PATIENCE):
            pass
        return self._child.wait(timeout=PATIENCE)

    def _read(self, seconds: float) -> bool:
        """Read what comes within so many seconds; `False` where nothing does, or the terminal is closed."""
        if not select.select([self._master], [], [], max(0.0, seconds))[0]:
            return False
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # Linux says so when the other end is closed
            return False
        self._written += piece
        return bool(piece)


@contextmanager
def dialog(*argv: object, env: Mapping[str, str], columns: int = 80, cwd: object = None) -> Iterator[Dialog]:
    """A command whose input and output are a terminal; it is ended with the block."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    words = [sys.executable, "-m", "hudkit", *map(str, argv)]
    child = subprocess.Popen(
        words,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=dict(env),
        cwd=None if cwd is None else str(cwd),
        start_new_session=True,
        # Ctrl-C comes from the terminal that is the process's own.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(slave)
    try:
        yield Dialog(master, child)
    finally:
        child.kill()
        child.wait()
        os.close(master)
