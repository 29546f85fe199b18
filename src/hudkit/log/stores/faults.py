"""What SQLite and the operating system raise, as the typed errors of a store; nothing raw leaves this room."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hudkit.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnsafe
from hudkit.log import Finding

_ERRNO: dict[int, tuple[type[StoreError], str]] = {
    errno.ENOSPC: (StoreFull, "Free some space"),
    errno.EDQUOT: (StoreFull, "Raise the quota or free some space"),
    errno.EFBIG: (StoreFull, "Raise the limit on file sizes"),
    errno.EACCES: (StoreReadOnly, "Make the file and its directory writable, or open it read-only"),
    errno.EPERM: (StoreReadOnly, "Make the file and its directory writable, or open it read-only"),
    errno.EROFS: (StoreReadOnly, "Use a file system that can be written, or open it read-only"),
    errno.ELOOP: (StoreUnsafe, "Name the real file, not a symbolic link"),
}

_WRITE_REFUSED = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE)
"""A write over a quota or a limit on file sizes; SQLite tells only `ENOSPC` apart."""

_PRIMARY: dict[int, tuple[type[StoreError], str, str]] = {
    sqlite3.SQLITE_BUSY: (StoreBusy, "another process holds the write lock", "Try again, or raise `busy_timeout`"),
    sqlite3.SQLITE_LOCKED: (StoreBusy, "another connection holds a lock", "Try again, or raise `busy_timeout`"),
    sqlite3.SQLITE_PROTOCOL: (StoreBusy, "the locks are contended", "Try again"),
    sqlite3.SQLITE_FULL: (StoreFull, "no space is left", "Free some space"),
    sqlite3.SQLITE_READONLY: (StoreReadOnly, "the file cannot be written", "Make file and directory writable"),
    sqlite3.SQLITE_CANTOPEN: (StoreReadOnly, "a file beside it cannot be made", "Make the directory writable"),
    sqlite3.SQLITE_PERM: (StoreReadOnly, "access is denied", "Make file and directory writable"),
    sqlite3.SQLITE_IOERR: (StoreError, "the medium failed", "Look at the disk"),
    sqlite3.SQLITE_TOOBIG: (StoreError, "the payload is too big", "Keep a payload below 900 MB"),
    sqlite3.SQLITE_NOMEM: (StoreError, "no memory is left", "Free some memory"),
    sqlite3.SQLITE_INTERRUPT: (StoreError, "the call was interrupted", "Try again"),
}
"""By primary result code; every other code means that the file is not what hudkit wrote."""


def from_sqlite(error: Exception, path: Path) -> StoreError:
    """The typed error that stands for what SQLite raised about the database at `path`."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, MemoryError):
        code = sqlite3.SQLITE_NOMEM
    if code in _WRITE_REFUSED:
        return StoreFull(f"{path}: the medium takes no more bytes", hint="Free space, or raise the quota or limit")
    known = _PRIMARY.get(code & 0xFF) if isinstance(code, int) else None
    if known is None:
        finding = Finding("file", "", 0, f"{path}: {error}")
        return StoreDamaged(finding.message, hint="Run `verify`; restore a copy of the file", finding=finding)
    kind, what, hint = known
    return kind(f"{path}: {what} ({error})", hint=hint)


def from_os(error: OSError, path: Path) -> StoreError:
    """The typed error that stands for a refusal of the operating system at `path`."""
    kind, hint = _ERRNO.get(error.errno or 0, (StoreError, "Name a file in a directory that can be used"))
    return kind(f"{path}: {error.strerror or error}", hint=hint)


def translate(error: Exception, path: Path) -> StoreError | None:
    """The typed error for whatever SQLite or the system raised about `path`; `None` for any other exception."""
    if isinstance(error, sqlite3.Error | sqlite3.Warning | MemoryError | OverflowError | UnicodeDecodeError):
        return from_sqlite(error, path)
    if isinstance(error, OSError):
        return from_os(error, path)
    if isinstance(error, ValueError):
        return StoreError(f"{str(path)!a}: {error}", hint="A path is text without NUL")
    return None


@contextmanager
def typed(path: Path) -> Iterator[None]:
    """Run a block that talks to SQLite or to the file system about `path`; a `StoreError` is all that leaves it."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        known = translate(error, path)
        if known is None:
            raise
        raise known from error
