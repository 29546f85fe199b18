"""Who may read and write what is ours: rules for directories and files, and which of them are surely ours."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from hudkit.cli.checks.check import Finding, fail, good, warn
from hudkit.cli.checks.surroundings import Surroundings
from hudkit.log.stores.sqlite_files import DATABASE_SUFFIXES, companion_path

OTHERS = 0o077
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_FIX = "hudkit doctor --fix"

_OURS = (
    "hudkit.db*",
    "hudkit.search.db*",
    "exports",
    "daemon.log*",
    "token",
    "install",
    "plugins",
    "run",
    "*.sock",
    "*.sock.lock",
)
"""What hudkit puts into directories of its own; one that holds anything else is not ours to change."""


def files(here: Surroundings) -> Iterator[Path]:
    """The private files of ours that are there, links included."""
    named = [companion_path(here.db, suffix) for suffix in DATABASE_SUFFIXES]
    named += [here.db.parent / "token", *(here.db.parent / f"daemon.log{end}" for end in ("", ".1", ".2"))]
    named += [here.install.manifest, here.install.plugin]
    return (path for path in named if os.path.lexists(path))


def directories(here: Surroundings) -> tuple[Path, ...]:
    """The data directory, and that of the socket; whether they are there or not."""
    return (here.data,) if here.socket is None else (here.data, here.socket.parent)


def is_ours(directory: Path) -> bool:
    """Whether a directory holds nothing but what hudkit puts there; an empty one may be anybody's."""
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries]
    if not names:
        return directory.name == "hudkit"
    return all(any(fnmatchcase(name, form) for form in _OURS) for name in names)


def directory(path: Path, *, entered: bool = False) -> Finding:
    """How a directory of ours is. `entered`: that others can enter it is refused by who uses it."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return _makeable(path)
    if stat.S_ISLNK(status.st_mode):
        return fail(f"{path} is a symbolic link", "Name the real directory")
    if not stat.S_ISDIR(status.st_mode):
        return fail(f"{path} is not a directory", "Move it away, or name another one")
    if status.st_uid != os.geteuid():
        return fail(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}", "Use a directory of your own")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"{path} cannot be written", f"chmod 700 {path}, or {_FIX}")
    if status.st_mode & _OTHERS_WRITE and (entered or not status.st_mode & stat.S_ISVTX):
        return fail(f"{path} can be written by others", f"chmod 700 {path}, or {_FIX}")
    if status.st_mode & OTHERS:
        words = f"{path} can be read or entered by others"
        return (fail if entered else warn)(words, f"chmod 700 {path}, or {_FIX}")
    return good(f"{path} is yours alone")


def file(path: Path) -> Finding:
    """How a private file of ours is."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return fail(f"{path} is a symbolic link", "Put the real file there")
    if not stat.S_ISREG(status.st_mode):
        return fail(f"{path} is not a file", "Move it away")
    if status.st_uid != os.geteuid():
        return fail(f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}", "Use a directory of your own")
    if not os.access(path, os.R_OK | os.W_OK):
        return fail(f"{path} cannot be read and written", f"chmod 600 {path}, or {_FIX}")
    if status.st_mode & _OTHERS_WRITE:
        return fail(f"{path} can be written by others", f"chmod 600 {path}, or {_FIX}")
    if status.st_mode & OTHERS:
        return warn(f"{path} can be read by others", f"chmod 600 {path}, or {_FIX}")
    return good(f"{path} is private")


def _makeable(path: Path) -> Finding:
    above = next((parent for parent in path.parents if os.path.lexists(parent)), Path("/"))
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK):
        return good(f"{path} is made when it is needed")
    return fail(f"{path} cannot be made: {above} cannot be written", "Name another one with HUDKIT_DATA")
