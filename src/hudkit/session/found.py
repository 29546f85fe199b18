"""Reading small text files of a project or of the user that go into prompts: bounded, ordinary files, no way out."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec

from hudkit.errors import ToolError
from hudkit.session.area import Area
from hudkit.session.text import plain, shown

MOST_FILE = 32 * 1024
"""Bytes of one file that are read."""


class Read(msgspec.Struct, frozen=True):
    """A file's text without hidden characters, at most `MOST_FILE` bytes of it; `size` is all that it has."""

    path: Path
    text: str
    size: int

    @property
    def cut(self) -> bool:
        return self.size > MOST_FILE


def inside(area: Area, path: Path) -> Read | None:
    """A file within an area; `None` where there is none, where it leads out, or where it is no text."""
    try:
        with area.opened(area.place(str(path), writing=False)) as fd:
            return _read(fd, path)
    except (ToolError, OSError):
        return None


def own(path: Path) -> Read | None:
    """A file of the user's own, links followed; `None` where there is none or where it is no text."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        return _read(fd, path) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError:
        return None
    finally:
        os.close(fd)


def _read(fd: int, path: Path) -> Read | None:
    raw = b""
    while len(raw) < MOST_FILE and (piece := os.read(fd, MOST_FILE - len(raw))):
        raw += piece
    found = plain(raw if len(raw) < MOST_FILE else raw[: len(raw) // 2 * 2])
    if found is None:
        return None
    return Read(path, shown(found.text.replace("\r\n", "\n")), os.fstat(fd).st_size)
