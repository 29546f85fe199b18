"""A command with a terminal for its output: what is on it, with colours and without."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping

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
