"""Connections to a log's database, with the settings that its promises rest on."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

from hudkit.errors import StoreError
from hudkit.log.stores.paths import beside

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
    """A connection that writes to an existing file, in WAL mode; waits up to `timeout` seconds for locks."""
    db = _connect(path, "rw", timeout)
    try:
        _into_wal(db, timeout)
        for setting in _SETTINGS:
            db.execute(setting)
    except BaseException:
        db.close()
        raise
    return db


def connect_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection that never writes to the file; it also works where the directory cannot be written."""
    db = _connect(path, "ro", timeout)
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        db.close()
        log = beside(path, "-wal")
        if log.exists() and log.stat().st_size:
            raise
        db = _connect(path, "ro&immutable=1", timeout)  # no process can be writing: there is no write-ahead log
    return db


def lenient(db: sqlite3.Connection) -> sqlite3.Connection:
    """The same connection; text that is not UTF-8 comes back with escapes instead of stopping the read."""
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return db


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file://{quote(os.fsencode(path))}?mode={mode}",
        uri=True,
        timeout=timeout,
        isolation_level=None,
        cached_statements=64,
        check_same_thread=False,
    )


def _into_wal(db: sqlite3.Connection, timeout: float) -> None:
    """Switch the file to WAL where it is not; SQLite does not wait for locks here, so this does."""
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
