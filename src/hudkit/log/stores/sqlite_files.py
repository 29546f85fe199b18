"""Our SQLite files: where they may lie and who may read them, how they are opened, and the errors of both, typed.

Files are 0600 in a directory of one's own, never behind a symbolic link: a log holds what a user said. Connections
have the settings that the promises of a log rest on. Whatever SQLite or the operating system raises leaves this
package as a `StoreError`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from hudkit.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreGone, StoreReadOnly, StoreUnsafe
from hudkit.log import Finding

DATABASE_SUFFIXES = ("", "-wal", "-shm", "-journal", ".mark")
"""The files of one log: the database, what SQLite keeps beside it, and the high-water mark."""

_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510  # where SQLite's file format has the shared lock
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def companion_path(path: Path, suffix: str) -> Path:
    """Return the file that goes with the database at `path`: `hudkit.db` and `-wal` give `hudkit.db-wal`."""
    return path.with_name(path.name + suffix)


def is_gone(path: Path) -> bool:
    """Return whether the log at `path` is not there, and the mark beside it says that events were acknowledged."""
    try:
        return not os.path.lexists(path) and bool(companion_path(path, ".mark").read_bytes().strip(b"\0"))
    except OSError:
        return False


def check_private_path(path: Path, *, create: bool) -> None:
    """Make sure that nobody else can put a file in the way; with `create`, make the directory (0700) where missing.

    Raises `StoreUnsafe`: a symbolic link, another user's file or directory, a directory that others can write (unless
    its sticky bit is set). An existing directory is never changed. `OSError` as the system raises it.
    """
    _check_directory(path.parent, create)
    for suffix in DATABASE_SUFFIXES:
        _check_file(companion_path(path, suffix), fix=create)


def create_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, whatever the umask; an existing one is a `FileExistsError`."""
    # Private from the first moment on: SQLite itself would make the file by the umask.
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
        status = directory.lstat()
    except FileNotFoundError:
        if not create:
            raise
        _make_directory(directory)
        status = directory.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise StoreUnsafe(f"{directory} is a symbolic link", hint="Name the real directory")
    if not stat.S_ISDIR(status.st_mode):
        raise StoreError(f"{directory} is not a directory", hint="Name a file in a directory")
    _check_owner(directory, status)
    if status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX:
        raise StoreUnsafe(f"{directory} can be written by others", hint=f"chmod go-w {directory}")


def _make_directory(directory: Path) -> None:
    """Make a directory and the missing ones above it, each 0700 whatever the umask."""
    if not directory.parent.exists():
        _make_directory(directory.parent)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        return
    directory.chmod(0o700)


def _check_file(path: Path, fix: bool) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode):
        raise StoreUnsafe(f"{path} is a symbolic link", hint="Name the real file")
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"{path} is not a file", hint="Name a file, existing or not")
    _check_owner(path, status)
    if fix and stat.S_IMODE(status.st_mode) & ~0o600:
        path.chmod(0o600)


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise StoreUnsafe(
            f"{path} belongs to user {status.st_uid}, not to {os.geteuid()}", hint="Use a directory of your own"
        )


# -- connections -----------------------------------------------------------------------------------------------------


_POLL_SECONDS = 0.01

_SETTINGS = (
    "PRAGMA synchronous = FULL",  # NORMAL loses acknowledged events with the power: docs/decisions/0001
    "PRAGMA fullfsync = ON",
    "PRAGMA secure_delete = ON",  # a redacted payload is overwritten, not only unlinked
    "PRAGMA cell_size_check = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA wal_autocheckpoint = 8000",  # a backstop: the log checkpoints by itself, with its mark synced first
)


def connect_writer(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that writes to an existing file, in WAL mode.

    It waits up to `timeout` seconds for locks.
    """
    db = _connect(path, "rw", timeout)
    try:
        into_wal(db, timeout)
        for setting in _SETTINGS:
            db.execute(setting)
    except BaseException:
        db.close()
        raise
    return db


def connect_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that never writes to the file, also where the directory cannot be written."""
    db = _connect(path, "ro", timeout)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        log = companion_path(path, "-wal")
        if log.exists() and log.stat().st_size:
            raise
        db = connect_alone(path, timeout)  # no process can be writing: there is no write-ahead log
    except BaseException:
        # Left open, it would share what it has read of the write-ahead log with the next connection of this process.
        db.close()
        raise
    return db


def connect_alone(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that reads the database file alone, as if there were no write-ahead log."""
    return _connect(path, "ro&immutable=1", timeout)


def is_open_elsewhere(path: Path) -> bool:
    """Whether another process holds SQLite's shared lock, which every connection to a log holds while it is open."""
    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
        return False
    except OSError:
        return True
    finally:
        os.close(fd)


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file://{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        cached_statements=64,
        check_same_thread=False,
    )


def into_wal(db: sqlite3.Connection, timeout: float) -> None:
    """Switch the file to WAL where it is not, for at most `timeout` seconds: SQLite does not wait for locks here.

    Raises `sqlite3.OperationalError` where it stays locked, and `StoreError` where the file system cannot hold one.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(_POLL_SECONDS)
    if mode != "wal":
        raise StoreError(f"the file system cannot hold a write-ahead log (mode {mode})", hint="Use a local directory")


_Identity = tuple[int, int]


class OpenFiles:
    """Which files a connection has open: the database and what lies beside it, by device and inode.

    Make it before the connection. A file that is removed, moved or replaced under an open connection can still be
    written, and SQLite says that it is durable; nobody will find it again (abuse case G6). So writers compare before
    a transaction and after its commit, and answer for nothing that went into such a file.
    """

    def __init__(self, path: Path) -> None:
        """Raises `OSError` where there is no file."""
        self._path = path
        # As texts, put together once: they are looked at around every commit.
        self._place = str(path)
        self._places_beside = {suffix: str(companion_path(path, suffix)) for suffix in ("-wal", "-shm", ".mark")}
        status = path.stat()
        self._database: _Identity = (status.st_dev, status.st_ino)
        self._beside: dict[str, _Identity | None] = {}

    def check(self, db: sqlite3.Connection | None = None) -> None:
        """Return nothing where every file is in its place, in a few microseconds. Raises `StoreGone`.

        What was committed then goes from the write-ahead log into the database that `db` has open, wherever that is
        now: moved back, it is whole, and the next database of this name does not take the log for its own.
        """
        database = _identity(self._place)
        beside = {suffix: _identity(place) for suffix, place in self._places_beside.items()}
        if database == self._database and beside == self._beside:
            return
        for suffix, identity in beside.items():
            # The first write makes them.
            if self._beside.get(suffix) is None:
                self._beside[suffix] = identity
        moved = [suffix for suffix, identity in self._beside.items() if beside[suffix] != identity]
        if database == self._database and not moved:
            return
        # Another log in that place belongs to somebody who may be writing it.
        if db is not None and beside["-wal"] in (None, self._beside["-wal"]):
            with suppress(sqlite3.Error):
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if database is None:
            hint = "Put it back, or end what has it open (`hudkit stop`): the next start makes a new one"
            raise StoreGone(f"{self._path} was removed or moved while it was open", hint=hint, replaced=False)
        lost = f"another file took the place of {self._path}"
        if database == self._database:
            lost = f"{companion_path(self._path, moved[0])} was taken away"
        raise StoreGone(
            f"{lost} while it was open", hint="Open it again (the daemon does so by itself)", replaced=True
        )


def _identity(path: str) -> _Identity | None:
    """Return device and inode of what a path names; `None` where it names nothing that lasts."""
    try:
        status = os.stat(path)  # noqa: PTH116 (a path object costs more than the call)
    except OSError:
        return None
    # A network's file system shows a removed file that is still open for a while, without links.
    return (status.st_dev, status.st_ino) if status.st_nlink else None


# -- errors ----------------------------------------------------------------------------------------------------------


_ERRNO: dict[int, tuple[type[StoreError], str]] = {
    errno.ENOSPC: (StoreFull, "Free some space"),
    errno.EDQUOT: (StoreFull, "Raise the quota or free some space"),
    errno.EFBIG: (StoreFull, "Raise the limit on file sizes"),
    errno.EACCES: (StoreReadOnly, "Make the file and its directory writable, or open it read-only"),
    errno.EPERM: (StoreReadOnly, "Make the file and its directory writable, or open it read-only"),
    errno.EROFS: (StoreReadOnly, "Use a file system that can be written, or open it read-only"),
    errno.ELOOP: (StoreUnsafe, "Name the real file, not a symbolic link"),
}

_WRITE_REFUSED = (sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMOPEN)
"""A write over a quota or a limit on file sizes, also of the file that the write-ahead log needs; SQLite tells only
`ENOSPC` apart."""

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


def _from_sqlite(error: Exception, path: Path) -> StoreError:
    """The typed error that stands for what SQLite raised about the database at `path`."""
    code = getattr(error, "sqlite_errorcode", None)
    if isinstance(error, MemoryError):
        code = sqlite3.SQLITE_NOMEM
    if code in _WRITE_REFUSED:
        return StoreFull(f"{path}: the medium takes no more bytes", hint="Free space, or raise the quota or limit")
    entry = _PRIMARY.get(code & 0xFF) if isinstance(code, int) else None
    if entry is None:
        finding = Finding("file", "", 0, f"{path}: {error}")
        return StoreDamaged(finding.message, hint="Run `verify`; restore a copy of the file", finding=finding)
    kind, what, hint = entry
    return kind(f"{path}: {what} ({error})", hint=hint)


def _from_os(error: OSError, path: Path) -> StoreError:
    """The typed error that stands for a refusal of the operating system at `path`."""
    kind, hint = _ERRNO.get(error.errno or 0, (StoreError, "Name a file in a directory that can be used"))
    return kind(f"{path}: {error.strerror or error}", hint=hint)


def translate_error(error: Exception, path: Path) -> StoreError | None:
    """Return the typed error for what SQLite or the system raised about `path`; `None` for any other exception."""
    if isinstance(error, sqlite3.Error | sqlite3.Warning | MemoryError | OverflowError | UnicodeDecodeError):
        return _from_sqlite(error, path)
    if isinstance(error, OSError):
        return _from_os(error, path)
    if isinstance(error, ValueError):
        return StoreError(f"{str(path)!a}: {error}", hint="A path is text without NUL")
    return None


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Run a block that talks to SQLite or to the file system about `path`.

    Return nothing, let only a `StoreError` out.
    """
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        translated = translate_error(error, path)
        if translated is None:
            raise
        raise translated from error


def used_bytes(db: sqlite3.Connection) -> int:
    """Return how many bytes of a database are in use: those of its free pages are not."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def shrink_database(db: sqlite3.Connection) -> None:
    """Write a database anew without its free pages, and empty what stands beside it; return nothing.

    A deleted row stays in a free page until then. Somebody who reads or writes puts it off to the next time.
    """
    with suppress(sqlite3.OperationalError):
        db.execute("VACUUM")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
