"""OpenCode's own database, read only, also while OpenCode writes to it.

Tables and JSON shapes as seen in OpenCode 1.18; what a newer one lacks is left empty, what it adds is passed over.

`_HostDatabase` is the door to the file: an allow-list of tables, no file left beside it, typed errors. How it is
opened, in order:

- the journal of the file is a write-ahead log and no `-wal` file is there: `immutable=1`. Plain `mode=ro` would
  create a `-wal` and a `-shm` in the host's directory and leave them behind. An immutable connection takes no locks,
  so the file is compared before and after each read, and the read is repeated if a writer came in between;
- otherwise `mode=ro`: a `-wal` that a writer left must be read, and `-shm` is there already, or has to be made (the
  one case that touches the directory: a writer crashed and its `-shm` was removed by hand).

A symbolic link is followed: nothing is written, and only tables of the allow-list can be read.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from hudkit.errors import TranscriptError
from hudkit.transcripts.opencode_json import parse_message, parse_part, parse_todos
from hudkit.transcripts.transcript import Message, Part, SessionRow, Todo, UnreadableRecord

# -- the read-only door to the host's file ---------------------------------------------------------------------------


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

SqlRow = Sequence[Any]
T = TypeVar("T")


class _HostDatabase:
    """One SQLite file of a host. Each read is a short connection of its own: no lock outlives it, and a host that
    replaces, truncates or removes the file in between is noticed at the next read."""

    def __init__(self, path: Path, tables: frozenset[str]) -> None:
        """Raises `TranscriptError` where `path` is no readable SQLite file."""
        self._given = path
        self._tables = tables
        self._path = _resolve_file(path)
        self.columns: dict[str, frozenset[str]] = self._read(self._catalogue)

    def rows(self, sql: str, values: Sequence[object], each: Callable[[SqlRow], T]) -> list[T]:
        """Return what `each` makes of the rows of one query over allowed tables, one row in memory at a time.

        Text comes as `str`, undecodable bytes replaced. `each` is called again where a read has to be repeated.
        """
        return self._read(lambda connection: [each(row) for row in connection.execute(sql, tuple(values))])

    def _read(self, action: Callable[[sqlite3.Connection], T]) -> T:
        try:
            # A writer that came in between makes the read worthless; a busy one is not waited for longer than this.
            for _ in range(_TRIES):
                before = _file_state(self._path)
                immutable = before.wal_format and not before.wal_size
                connection = self._connect(immutable)
                try:
                    result = action(connection)
                finally:
                    connection.close()
                if not immutable or _file_state(self._path) == before:
                    return result
        except sqlite3.Error as error:
            raise TranscriptError(
                f"{self._given} cannot be read as a database: {error}",
                hint="If it is damaged or half-copied, copy it again with its -wal file while the host is closed.",
                path=str(self._given),
            ) from error
        except OSError as error:
            raise _cannot_open(self._given, error) from error
        raise TranscriptError(
            f"{self._given} changed during each of {_TRIES} reads", hint="Try again.", path=str(self._given)
        )

    def _connect(self, immutable: bool) -> sqlite3.Connection:
        uri = f"file:{quote(str(self._path))}?mode=ro" + ("&immutable=1" if immutable else "")
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_MS / 1000, isolation_level=None)
        connection.text_factory = _decode_text
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        # Last: the pragmas above would be denied by it.
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
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0").fetchall()
        return {
            name: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
            for (name,) in tables
            if name in self._tables
        }


class _FileState:
    """What tells whether a file was written to."""

    def __init__(self, file: os.stat_result, wal_size: int, wal_format: bool) -> None:
        self.file = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
        self.wal_size = wal_size
        self.wal_format = wal_format

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FileState) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]


def _file_state(path: Path) -> _FileState:
    with path.open("rb") as file:
        head = file.read(20)
        status = os.fstat(file.fileno())
    if not head.startswith(_MAGIC) or len(head) < 20:
        raise sqlite3.DatabaseError("file is not a database")
    try:
        wal_size = Path(f"{path}-wal").stat().st_size
    except FileNotFoundError:
        wal_size = 0
    return _FileState(status, wal_size, head[18] == _WAL_FORMAT)


def _resolve_file(path: Path) -> Path:
    """The file behind `path`; a FIFO or a device is refused before anything opens it and hangs."""
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, ValueError, RuntimeError) as error:
        raise _cannot_open(path, error) from error
    if not stat.S_ISREG(mode):
        kind = "a directory" if stat.S_ISDIR(mode) else "no regular file"
        raise TranscriptError(f"{path} is {kind}", hint="Name the host's database file itself.", path=str(path))
    return real


def _cannot_open(path: Path, error: Exception) -> TranscriptError:
    why = getattr(error, "strerror", None) or str(error)
    return TranscriptError(f"{path} cannot be opened: {why}", hint="Name the host's database file.", path=str(path))


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


HOST = "opencode"

TABLES = frozenset({"session", "message", "part", "todo", "project"})
"""All that is ever read. `account`, `control_account` and `credential` hold secrets."""

_REQUIRED = {"session": ("id",), "message": ("id", "session_id", "data"), "part": ("id", "message_id", "data")}
_SESSION = ("id", "parent_id", "project_id", "directory", "title", "agent", "model", "time_created", "time_updated")
_PAGE = 100  # messages of one read: short read transactions do not hold up the host's checkpoints
_MAX_JSON = 64 * 1024 * 1024  # bytes of one record
_MAX_PARTS = 5_000  # parts of one message
_MAX_SKIPPED = 1_000
_ZERO = "CAST(0 AS INTEGER)"  # a bare number after ORDER BY is a column's position


class OpenCodeTranscript:
    """The `Transcript` of one OpenCode database. Safe to share between threads: it keeps no connection."""

    host = HOST

    def __init__(self, file: _HostDatabase) -> None:
        self._file = file
        self._skipped: dict[tuple[str, str], UnreadableRecord] = {}

    @classmethod
    def open(cls, path: str | Path) -> OpenCodeTranscript:
        """Return the transcript in a database.

        Raises `TranscriptError` where `path` is not a readable one of OpenCode.
        """
        file = _HostDatabase(Path(path), TABLES)
        for table, columns in _REQUIRED.items():
            missing = [column for column in columns if column not in file.columns.get(table, ())]
            if missing:
                raise TranscriptError(
                    f"{path} is not an OpenCode database that this version can read: "
                    + (f"{table} has no {', '.join(missing)}" if table in file.columns else f"no table {table}"),
                    hint="Expected the opencode.db of OpenCode 1.18 or a compatible one.",
                    path=str(path),
                )
        return cls(file)

    @property
    def skipped(self) -> tuple[UnreadableRecord, ...]:
        """Return the records that could not be read so far, at most the first thousand."""
        return tuple(self._skipped.values())

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions by the time of their creation; archived ones and those of subagents too."""
        return self._sessions("")

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, `None` for an unknown id."""
        return next(iter(self._sessions(" WHERE id = ?", session_id)), None)

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        """Return messages in OpenCode's order (creation time, then id; their parts by id), read a page at a time."""
        # Pages go on behind (time, id), not by offset: messages that come meanwhile shift nothing.
        time = self._column("message", "time_created", _ZERO)
        begin: tuple[object, object] = (-1, "")
        if after:
            sql = f"SELECT {time}, id FROM message WHERE id = ? AND session_id = ?"
            positions = self._file.rows(sql, (after, session_id), lambda row: (row[0], row[1]))
            if not positions:
                raise TranscriptError(f"no message {after!r:.80} in this session", hint="Read it from its beginning.")
            begin = positions[0]
        while True:
            page = self._file.rows(
                f"SELECT id, {time}, {_bounded_column('data')} FROM message "
                f"WHERE session_id = ? AND ({time}, id) > (?, ?) ORDER BY {time}, id LIMIT {_PAGE}",
                (session_id, *begin),
                lambda row: (row[0], row[1], self._message(session_id, row)),
            )
            parts = self._parts([id for id, _, message in page if message is not None])
            for id, _, message in page:
                if message is not None:
                    yield msgspec.structs.replace(message, parts=tuple(parts.get(str(id), ())))
            if len(page) < _PAGE:
                return
            begin = (page[-1][1], page[-1][0])

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        """Return the todo list as it is now; nothing where this version has no such table."""
        columns = self._file.columns.get("todo", frozenset())
        if not {"session_id", "content"} <= columns:
            return ()
        status, priority, position = (self._column("todo", name, "''") for name in ("status", "priority", "position"))
        rows = self._file.rows(
            f"SELECT content, {status}, {priority} FROM todo WHERE session_id = ? ORDER BY {position}",
            (session_id,),
            lambda row: {"content": row[0], "status": row[1], "priority": row[2]},
        )
        return parse_todos(rows)

    def close(self) -> None:
        """Do nothing: nothing is held open between reads."""

    def __enter__(self) -> OpenCodeTranscript:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _sessions(self, where: str, *values: object) -> tuple[SessionRow, ...]:
        roots = self._roots()
        names = ", ".join(f"{self._column('session', name, 'NULL')} AS {name}" for name in _SESSION)
        order = f" ORDER BY {self._column('session', 'time_created', _ZERO)}, id"
        sql = f"SELECT {names} FROM session{where}{order}"
        return tuple(self._file.rows(sql, values, lambda row: _session(dict(zip(_SESSION, row, strict=True)), roots)))

    def _roots(self) -> dict[str, str]:
        if not {"id", "worktree"} <= self._file.columns.get("project", frozenset()):
            return {}
        sql = "SELECT id, worktree FROM project"
        return dict(self._file.rows(sql, (), lambda row: (_plain(row[0]), _plain(row[1]))))

    def _message(self, session_id: str, row: SqlRow) -> Message | None:
        id, created, raw = row
        data = self._object("message", id, raw)
        stamp = created if isinstance(created, int) else 0
        return None if data is None else parse_message(str(id), session_id, data, (), created=stamp)

    def _parts(self, ids: list[object]) -> dict[str, list[Part]]:
        by_message: dict[str, list[Part]] = {}
        marks = ", ".join("?" * len(ids))
        rows = self._file.rows(
            f"SELECT message_id, id, {_bounded_column('data')} FROM part "
            f"WHERE message_id IN ({marks}) ORDER BY message_id, id",
            ids,
            self._part,
        )
        for message_id, part in rows:
            parts = by_message.setdefault(message_id, [])
            if part is not None and len(parts) < _MAX_PARTS:
                parts.append(part)
        return by_message

    def _part(self, row: SqlRow) -> tuple[str, Part | None]:
        data = self._object("part", row[1], row[2])
        return str(row[0]), None if data is None else parse_part(str(row[1]), data)

    def _object(self, table: str, id: object, raw: object) -> dict[str, Any] | None:
        data, reason = _parse_record(raw)
        if data is None and len(self._skipped) < _MAX_SKIPPED:
            self._skipped.setdefault((table, str(id)), UnreadableRecord(table, str(id), reason))
        return data

    def _column(self, table: str, name: str, otherwise: str) -> str:
        return name if name in self._file.columns.get(table, ()) else otherwise


def _bounded_column(column: str) -> str:
    return f"CASE WHEN length(CAST({column} AS BLOB)) <= {_MAX_JSON} THEN {column} ELSE zeroblob(0) END"


def _parse_record(raw: object) -> tuple[dict[str, Any] | None, str]:
    """The JSON object of a record, or `None` and why there is none."""
    if raw == b"":
        return None, f"empty or longer than {_MAX_JSON} bytes"
    if not isinstance(raw, str | bytes):
        return None, f"expected JSON text, found {type(raw).__name__}"
    try:
        data = _decode_json(raw)
    except RecursionError:
        return None, "nested too deeply"
    except (ValueError, msgspec.DecodeError) as error:
        return None, f"broken JSON: {error}"[:200]
    return (data, "") if isinstance(data, dict) else (None, f"expected an object, found {type(data).__name__}")


def _decode_json(raw: str | bytes) -> object:
    """JavaScript writes half of a cut surrogate pair as an escape, which only the lenient reader takes."""
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        # Only escapes can be the cause: for anything else the second, slower reading would fail, too.
        if (b"\\u" if isinstance(raw, bytes) else "\\u") not in raw:  # type: ignore[operator]
            raise
        return json.loads(raw)


def _session(row: dict[str, Any], roots: dict[str, str]) -> SessionRow:
    directory = _plain(row["directory"])
    root = roots.get(_plain(row["project_id"]), "")
    return SessionRow(
        id=_plain(row["id"]),
        host=HOST,
        parent_id=_plain(row["parent_id"]),
        directory=directory,
        title=_plain(row["title"]),
        agent=_plain(row["agent"]),
        model=_model(_plain(row["model"])),
        root=directory if root in ("", "/") else root,  # "/" is OpenCode's project for what is under no git root
        created=row["time_created"] if isinstance(row["time_created"], int) else 0,
        updated=row["time_updated"] if isinstance(row["time_updated"], int) else 0,
    )


def _model(stored: str) -> str:
    """The model's id: the column holds a JSON object; a plain name is taken as it is."""
    data, _ = _parse_record(stored)
    return stored if data is None else str(data.get("id") or "")


def _plain(value: object) -> str:
    return value[:4_096] if isinstance(value, str) else ""
