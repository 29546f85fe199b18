"""Where a log may live and who may read it: files 0600, a directory of one's own, no symbolic links."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hudkit.errors import StoreError, StoreUnsafe

SUFFIXES = ("", "-wal", "-shm", "-journal", ".mark")
"""The files of one log: the database, what SQLite keeps beside it, and the high-water mark."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def beside(path: Path, suffix: str) -> Path:
    """The file that goes with the database at `path`."""
    return path.with_name(path.name + suffix)


def check_place(path: Path, *, create: bool) -> None:
    """Make sure that nobody else can put a file in the way; with `create`, make the directory (0700) where missing.

    Raises `StoreUnsafe`: a symbolic link, another user's file or directory, a directory that others can write (unless
    its sticky bit is set). An existing directory is never changed. `OSError` as the system raises it.
    """
    _check_directory(path.parent, create)
    for suffix in SUFFIXES:
        _check_file(beside(path, suffix), fix=create)


def create_private(path: Path) -> None:
    """Make an empty file with mode 0600, whatever the umask; an existing one is a `FileExistsError`."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(fd, 0o600)
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make a directory's entries durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _check_directory(directory: Path, create: bool) -> None:
    try:
        found = directory.lstat()
    except FileNotFoundError:
        if not create:
            raise
        _make(directory)
        found = directory.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise StoreUnsafe(f"{directory} is a symbolic link", hint="Name the real directory")
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError(f"{directory} is not a directory", hint="Name a file in a directory")
    _check_owner(directory, found)
    if found.st_mode & _OTHERS_WRITE and not found.st_mode & stat.S_ISVTX:
        raise StoreUnsafe(f"{directory} can be written by others", hint=f"chmod go-w {directory}")


def _make(directory: Path) -> None:
    """Make a directory and the missing ones above it, each 0700 whatever the umask."""
    if not directory.parent.exists():
        _make(directory.parent)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return
    directory.chmod(0o700)


def _check_file(path: Path, fix: bool) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(found.st_mode):
        raise StoreUnsafe(f"{path} is a symbolic link", hint="Name the real file")
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a file", hint="Name a file, existing or not")
    _check_owner(path, found)
    if fix and stat.S_IMODE(found.st_mode) & ~0o600:
        path.chmod(0o600)


def _check_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise StoreUnsafe(
            f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}", hint="Use a directory of your own"
        )
