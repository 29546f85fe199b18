"""Saved plans of a host: markdown files in known folders, listed and read by name, never by path."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

import msgspec

from hudkit.errors import TranscriptError

MOST_BYTES = 256 * 1024
"""Of one plan; the rest is not read."""

MOST_PLANS = 1_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,196}\.md")


class Plan(msgspec.Struct, frozen=True):
    """A plan's file: its name, its folder, its size in bytes, and when it changed (Unix ms)."""

    name: str
    folder: str
    size: int
    changed: int


def plans(folders: Iterable[Path]) -> tuple[Plan, ...]:
    """The plans in these folders, the newest first; links and what is no file are passed over."""
    found: list[Plan] = []
    for folder in filter(_own, dict.fromkeys(folders)):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        changed = status.st_mtime_ns // 1_000_000
                        found.append(Plan(entry.name, str(folder), status.st_size, changed))
        except (OSError, ValueError):
            continue
    return tuple(sorted(found, key=lambda plan: (-plan.changed, plan.name))[:MOST_PLANS])


def read_plan(folders: Iterable[Path], name: str) -> tuple[str, bool]:
    """A plan's text, undecodable bytes replaced, and whether it was cut.

    `name` is a file's name as `plans` lists it, with or without `.md`. Raises `TranscriptError`, with one text for a
    name that is none, that is a path, and that is not there.
    """
    wanted = name if name.endswith(".md") else f"{name}.md"
    if _NAME.fullmatch(wanted):
        for folder in filter(_own, dict.fromkeys(folders)):
            body = _read(folder, wanted)
            if body is not None:
                return body[:MOST_BYTES].decode("utf-8", "replace").lstrip("\ufeff"), len(body) > MOST_BYTES
    raise TranscriptError("there is no plan of this name", hint="`plans` lists the names.")


def _own(folder: Path) -> bool:
    """A folder that a project could not lead elsewhere: neither it nor the one above it is a link."""
    return not folder.is_symlink() and not folder.parent.is_symlink()


def _read(folder: Path, name: str) -> bytes | None:
    """Through the folder's own descriptor, and without following a link, so that no name leads out of it."""
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=place)
    except (OSError, ValueError):
        return None
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MOST_BYTES + 1)
