"""Reading small text files of a project or of the user that go into prompts: bounded, ordinary files, no way out."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hudkit.agent.area import Area
from hudkit.agent.text import plain, shown
from hudkit.errors import ToolError

MOST_FILE = 32 * 1024
"""Bytes of one file that are read."""

MOST_FILES = 64
"""Files of one folder that are looked at."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Read(msgspec.Struct, frozen=True):
    """A file's text without hidden characters, at most `MOST_FILE` bytes of it; `size` is all that it has."""

    path: Path
    text: str
    size: int

    @property
    def cut(self) -> bool:
        return self.size > MOST_FILE


class Wrong(msgspec.Struct, frozen=True):
    """A definition that could not be read, and why."""

    path: Path
    why: str


def definitions(folder: Path, read: Callable[[Path], Read | None]) -> Iterator[tuple[str, Read | Wrong]]:
    """The markdown files of a folder by their names without the ending, in order; one that is too long is `Wrong`."""
    try:
        names = sorted(os.listdir(folder))[:MOST_FILES]  # noqa: PTH208 (names only)
    except OSError:
        return
    for name in names:
        stem, ending = os.path.splitext(name)  # noqa: PTH122
        if ending == ".md" and _NAME.fullmatch(stem) and (file := read(folder / name)) is not None:
            yield stem, Wrong(folder / name, f"it has more than {MOST_FILE:,} bytes") if file.cut else file


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
