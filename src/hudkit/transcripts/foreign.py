"""The read-only door to another program's SQLite file: an allow-list of tables, no file left beside it, typed errors.

How it is opened, in order:
- the journal of the file is a write-ahead log and no `-wal` file is there: `immutable=1`. Plain `mode=ro` would
  create a `-wal` and a `-shm` in the host's directory and leave them behind. An immutable connection takes no locks,
  so the file is compared before and after each read, and the read is repeated if a writer came in between;
- otherwise `mode=ro`: a `-wal` that a writer left must be read, and `-shm` is there already, or has to be made (the
  one case that touches the directory: a writer crashed and its `-shm` was removed by hand).
A symbolic link is followed: nothing is written, and only tables of the allow-list can be read.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from hudkit.errors import TranscriptError

_MAGIC = b"SQLite format 3\0"
_WAL_FORMAT = 2  # byte 18 of the header
_BUSY_MS = 2_000
_TRIES = 5

_PLAIN = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
    sqlite3.SQLITE_TRANSACTION,
)
_CATALOGUE = ("sqlite_master", "sqlite_schema")

Row = Sequence[Any]
T = TypeVar("T")


class ForeignFile:
    """One SQLite file of a host. Each read is a short connection of its own: no lock outlives it, and a host that
    replaces, truncates or removes the file in between is noticed at the next read."""

    def __init__(self, path: Path, tables: frozenset[str]) -> None:
        """Raises `TranscriptError` where `path` is no readable SQLite file."""
        self._given = path
        self._tables = tables
        self._path = regular(path)
        self.columns: dict[str, frozenset[str]] = self._read(self._catalogue)

    def rows(self, sql: str, values: Sequence[object], each: Callable[[Row], T]) -> list[T]:
        """What `each` makes of the rows of one query over allowed tables, one row in memory at a time.

        Text comes as `str`, undecodable bytes replaced. `each` is called again where a read has to be repeated.
        """
        return self._read(lambda connection: [each(row) for row in connection.execute(sql, tuple(values))])

    def _read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            for _ in range(_TRIES):
                before = _mark(self._path)
                immutable = before.wal_format and not before.wal_size
                connection = self._connect(immutable)
                try:
                    result = action(connection)
                finally:
                    connection.close()
                if not immutable or _mark(self._path) == before:
                    return result
        except sqlite3.Error as error:
            raise TranscriptError(
                f"{self._given} cannot be read as a database: {error}",
                hint="If it is damaged or half-copied, copy it again with its -wal file while the host is closed.",
                path=str(self._given),
            ) from error
        except OSError as error:
            raise _absent(self._given, error) from error
        raise TranscriptError(
            f"{self._given} changed during each of {_TRIES} reads", hint="Try again.", path=str(self._given)
        )

    def _connect(self, immutable: bool) -> sqlite3.Connection:
        uri = f"file:{quote(str(self._path))}?mode=ro" + ("&immutable=1" if immutable else "")
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_MS / 1000, isolation_level=None)
        connection.text_factory = _decoded
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.set_authorizer(self._allowed)
        return connection

    def _allowed(self, action: int, first: str | None, *_: str | None) -> int:
        """SQLite asks this for every table that a statement, or a view inside it, would read."""
        if action in _PLAIN:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ and (first in self._tables or first in _CATALOGUE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "table_info":
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY

    def _catalogue(self, connection: sqlite3.Connection) -> dict[str, frozenset[str]]:
        """Columns of each allowed table that exists: real tables only, a view could compute for ever."""
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
        return {
            name: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
            for (name,) in found
            if name in self._tables
        }


class _Mark:
    """What tells whether a file was written to."""

    def __init__(self, file: os.stat_result, wal_size: int, wal_format: bool) -> None:
        self.file = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
        self.wal_size = wal_size
        self.wal_format = wal_format

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Mark) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def _mark(path: Path) -> _Mark:
    with path.open("rb") as file:
        head = file.read(20)
        status = os.fstat(file.fileno())
    if not head.startswith(_MAGIC) or len(head) < 20:
        raise sqlite3.DatabaseError("file is not a database")
    try:
        wal_size = Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        wal_size = 0
    return _Mark(status, wal_size, head[18] == _WAL_FORMAT)


def regular(path: Path) -> Path:
    """The file behind `path`; a FIFO or a device is refused before anything opens it and hangs."""
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, ValueError, RuntimeError) as error:
        raise _absent(path, error) from error
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise TranscriptError(f"{path} is {kind}", hint="Name the host's database file itself.", path=str(path))
    return real


def _absent(path: Path, error: Exception) -> TranscriptError:
    why = getattr(error, "strerror", None) or str(error)
    return TranscriptError(f"{path} cannot be opened: {why}", hint="Name the host's database file.", path=str(path))


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
