"""Where events stay: logs behind the `EventLog` protocol, in memory, in SQLite and on PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from hudkit.errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly
from hudkit.log import Batch, Event, EventDraft, EventLog, Finding, Snapshot
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.log.stores.sqlite_files import store_errors
from hudkit.log.stores.sqlite_log import SqliteLog, verify_database
from hudkit.paths import is_server_url

if TYPE_CHECKING:
    from hudkit.log.stores.group_commit import GroupCommit
    from hudkit.log.stores.postgres_log import PostgresLog

__all__ = ["GroupCommit", "MemoryLog", "PostgresLog", "SqliteLog", "open_log", "verify_file"]


def __getattr__(name: str) -> Any:  # a short-lived hook process does not pay for futures and threads
    if name == "GroupCommit":
        from hudkit.log.stores.group_commit import GroupCommit

        return GroupCommit
    if name == "PostgresLog":  # nor anybody for a client of a server that is not used
        try:
            from hudkit.log.stores.postgres_log import PostgresLog
        except ImportError as error:
            from hudkit.installation import install_hint

            if (error.name or "").partition(".")[0] == "hudkit":
                raise
            message = f"a log on PostgreSQL needs the package psycopg: {error}"
            raise StoreError(message, hint=install_hint("postgres")) from error
        return PostgresLog
    raise AttributeError(f"module 'hudkit.log.stores' has no attribute {name!r}")


def open_log(
    path: str | PathLike[str] | None, *, read_only: bool = False, busy_timeout: float = 5.0, fail_open: bool = False
) -> EventLog:
    """Return the log at `path`; with `None`, a new one in memory; for a `postgresql://` URL, that on the server.

    Errors: see `SqliteLog.open` and `PostgresLog.open`.

    With `fail_open`, a medium that refuses writes (a read-only file system, a full disk) is no error: the log that is
    returned reads what is there, refuses every append with the medium's error, and appends as soon as it can. Where
    there is nothing to be read and a directory that cannot be written, as a home that is read-only, it is a log in
    memory, which says so (`remark`).
    """
    if path is None:
        return MemoryLog()
    if is_server_url(path):
        from hudkit.log.stores import PostgresLog

        return PostgresLog.open(str(path), read_only=read_only, busy_timeout=busy_timeout)
    try:
        return SqliteLog.open(path, read_only=read_only, busy_timeout=busy_timeout)
    except (StoreFull, StoreReadOnly) as error:
        if not fail_open:
            raise
        if isinstance(error, StoreReadOnly) and not os.path.lexists(path):
            return _VolatileLog()
        return _UnwritableLog(Path(path), busy_timeout, error)


class _VolatileLog(MemoryLog):
    """An `EventLog` where nothing can be written: as long as the process lives, and no longer."""

    remark = "state: kept in memory only (read-only); a restart of hudkit loses it"
    """What every frame and answer says."""


class _UnwritableLog:
    """An `EventLog` on a medium that refused to be written when it was opened; each append tries again."""

    def __init__(self, path: Path, busy_timeout: float, error: StoreError) -> None:
        self._path, self._busy_timeout = path, busy_timeout
        self._lock = Lock()
        self._writable = False
        self._log = self._reader(error)

    def _reader(self, error: StoreError) -> EventLog:
        """Return what can be read; an empty log where no file could be made. Raises `error` for any other reason."""
        if not os.path.lexists(self._path) or not self._path.stat().st_size:
            return MemoryLog()
        try:
            return SqliteLog.open(self._path, read_only=True, busy_timeout=self._busy_timeout)
        except (StoreFull, StoreReadOnly):
            raise error from None

    def _writer(self) -> EventLog:
        """Return the log for an append. Raises a `StoreError` while the medium still refuses."""
        with self._lock:
            if not self._writable:
                writer = SqliteLog.open(self._path, busy_timeout=self._busy_timeout)
                self._log.close()
                self._log, self._writable = writer, True
            return self._log

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none. Raises the `StoreError` of the medium while it cannot be written."""
        return self._writer().append(session_id, drafts, expected=expected)

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches. Raises the `StoreError` of the medium while it cannot be written."""
        return self._writer().append_many(batches)

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append all of several batches or none. Raises the `StoreError` of the medium while it cannot be written."""
        return self._writer().append_together(batches)

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a saved projection. Raises the `StoreError` of the medium while it cannot be written."""
        self._writer().put_snapshot(snapshot)

    def __getattr__(self, name: str) -> Any:  # reading, and what only the log of a file has
        return getattr(self._log, name)


def verify_file(path: str | PathLike[str], *, busy_timeout: float = 5.0) -> Iterator[Finding]:
    """Return everything that is wrong with the log in a file, also one that is too malformed to be opened.

    Changes nothing. Raises a `StoreError` where the file is absent or cannot be read.
    """
    file = Path(path)
    try:
        with store_errors(file):
            file = file.absolute()
            file.stat()
            return iter(verify_database(file, busy_timeout))
    except StoreDamaged as error:
        finding = error.details["finding"]
        assert isinstance(finding, Finding)
        return iter([finding])
