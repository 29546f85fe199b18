"""The files of a project as searches see them: what git knows or does not ignore, else all but well-known folders."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from hudkit.agent.area import Area
from hudkit.errors import ToolError

MOST_FILES = 200_000

MOST_COUNTED = 20_000

PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".ruff_cache"}
    | {".pytest_cache", ".next", ".gradle", ".terraform", ".idea"}
)
"""Folders without git that are not looked into; a search that begins in one of them does look."""

_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=/dev/null",
    "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate",
)  # fmt: skip
"""A repository's own settings must not run programs here."""


class Candidate(msgspec.Struct, frozen=True):
    """An ordinary file: its path relative to where the search began, and when it was last changed (ns)."""

    path: str
    changed: int


def candidates(area: Area, start: Path, stopped: Callable[[], bool], seconds: float) -> Iterator[Candidate]:
    """The files below a directory inside the area, links not followed. Raises `ToolError`, `OSError`."""
    with area.folder(start) as fd:
        listed = _listed(start, seconds)
        if listed is None:
            yield from _walked(fd, stopped)
            return
        for name in listed[:MOST_FILES]:
            if stopped():
                return
            changed = _changed(name, fd)
            if changed is not None and not _through_link(name, fd):
                yield Candidate(name, changed)


def census(area: Area, seconds: float = 2.0, most: int = MOST_COUNTED) -> dict[str, int] | None:
    """The project's files with when each was last changed; `None` where there are too many to look at each time."""
    until = time.monotonic() + seconds
    found: dict[str, int] = {}
    try:
        for file in candidates(area, area.root, lambda: time.monotonic() > until, seconds):
            found[file.path] = file.changed
            if len(found) > most:
                return None
    except (OSError, ToolError):
        return None
    return found if time.monotonic() <= until else None


def changed(before: dict[str, int] | None, after: dict[str, int] | None) -> tuple[str, ...]:
    """The files that are new, gone or written since; nothing where that is not known."""
    if before is None or after is None:
        return ()
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _listed(start: Path, seconds: float) -> list[str] | None:
    """What git lists below a directory; `None` where it lists nothing (no repository, an ignored directory)."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_OPTIONAL_LOCKS": "0",
    }
    try:
        done = subprocess.run(
            _GIT, cwd=start, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or not done.stdout:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _walked(top: int, stopped: Callable[[], bool]) -> Iterator[Candidate]:
    count = 0
    for folder, below, files, fd in os.fwalk(".", dir_fd=top, follow_symlinks=False):
        below[:] = sorted(name for name in below if name not in PASSED_OVER)
        for name in sorted(files):
            if stopped() or count >= MOST_FILES:
                return
            changed = _changed(name, fd)
            if changed is not None:
                count += 1
                yield Candidate(f"{folder}/{name}".removeprefix("./"), changed)


def _changed(name: str, fd: int) -> int | None:
    """When an ordinary file was changed; `None` for anything else."""
    try:
        found = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns if stat.S_ISREG(found.st_mode) else None


def _through_link(name: str, fd: int) -> bool:
    """Whether a directory on the way is a link (git lists none, but it may have become one)."""
    parts = name.split("/")[:-1]
    try:
        return any(
            stat.S_ISLNK(os.stat("/".join(parts[:count]), dir_fd=fd, follow_symlinks=False).st_mode)
            for count in range(1, len(parts) + 1)
        )
    except OSError:
        return True
