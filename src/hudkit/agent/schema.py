"""The tables of the sessions' database, the numbered steps that make them, and the connections to its file.

`messages.position` and `parts.position` give the order in which each was first stored. Bodies are JSON of the structs
of `records`; the columns beside a body are what is asked for without reading it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hudkit.errors import StoreDamaged, StoreReadOnly, StoreTooNew
from hudkit.log import Finding
from hudkit.log.stores.connect import connect_reader, connect_writer
from hudkit.log.stores.faults import typed
from hudkit.log.stores.paths import check_place, create_private

FILE = "sessions.db"
"""The name of the database in hudkit's data directory."""

APPLICATION_ID = 0x4855444C
"""`PRAGMA application_id` of every file of sessions (the letters HUDL)."""

Step = tuple[str, ...]

MIGRATIONS: Sequence[Step] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE projects (id TEXT PRIMARY KEY, root TEXT NOT NULL, created INTEGER NOT NULL)",
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            position INTEGER NOT NULL UNIQUE,
            project_id TEXT NOT NULL,
            parent_id TEXT NOT NULL,
            updated INTEGER NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX sessions_of_project ON sessions (project_id, updated)",
        """CREATE TABLE messages (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            session_id TEXT NOT NULL REFERENCES sessions (id),
            role TEXT NOT NULL,
            open INTEGER NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX messages_of_session ON messages (session_id, position)",
        "CREATE INDEX messages_open ON messages (session_id) WHERE open",
        """CREATE TABLE parts (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
            session_id TEXT NOT NULL,
            status TEXT NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX parts_of_message ON parts (message_id, position)",
        "CREATE INDEX parts_unfinished ON parts (session_id) WHERE status IN ('pending', 'running')",
        """CREATE TABLE todos (
            session_id TEXT NOT NULL REFERENCES sessions (id),
            place INTEGER NOT NULL,
            body BLOB NOT NULL,
            PRIMARY KEY (session_id, place)
        )""",
        """CREATE TABLE diffs (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL,
            message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
            path TEXT NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX diffs_of_session ON diffs (session_id, position)",
    ),
    (
        "CREATE TABLE contents (digest TEXT PRIMARY KEY, raw BLOB NOT NULL)",
        """CREATE TABLE changes (
            position INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL,
            message_id TEXT NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
            call_id TEXT NOT NULL,
            path TEXT NOT NULL,
            before TEXT NOT NULL,
            after TEXT NOT NULL,
            mode INTEGER NOT NULL
        )""",
        "CREATE INDEX changes_of_session ON changes (session_id, position)",
        "CREATE INDEX changes_of_message ON changes (message_id)",
        "CREATE INDEX changes_before ON changes (before)",
        "CREATE INDEX sessions_of_parent ON sessions (parent_id)",
    ),
)
"""Step `n` (from 0) brings a file from `PRAGMA user_version` n to n + 1, in one transaction.

A released step is never edited."""


def open_writer(path: Path, timeout: float, steps: Sequence[Step] = MIGRATIONS) -> sqlite3.Connection:
    """A connection that writes; the file is made (0600, in a directory of one's own) where it is missing.

    Raises a `StoreError`: `StoreTooNew` for a newer version's file, `StoreDamaged` for what is not ours.
    """
    with typed(path):
        check_place(path, create=True)
        with suppress(FileExistsError):
            create_private(path)
        if path.stat().st_size:  # a newer or a foreign file stays as it is: look before anything is written
            probe = connect_reader(path, timeout)
            try:
                _version(probe, path, steps)
            finally:
                probe.close()
        db = connect_writer(path, timeout)
        try:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA wal_autocheckpoint = 1000")
            _migrate(db, path, steps)
        except BaseException:
            db.close()
            raise
        return db


def open_reader(path: Path, timeout: float, steps: Sequence[Step] = MIGRATIONS) -> sqlite3.Connection:
    """A connection that only reads. Raises a `StoreError`, also where there is no file yet."""
    with typed(path):
        check_place(path, create=False)
        path.stat()
        db = connect_reader(path, timeout)
        try:
            version = _version(db, path, steps)
            if version < len(steps):
                raise StoreReadOnly(
                    f"{path} has schema version {version}; it must be brought to {len(steps)} before it is read",
                    hint="Open it once for writing",
                )
        except BaseException:
            db.close()
            raise
        return db


def _migrate(db: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> None:
    """The version is read again under the write lock: two processes that open a file at once do each step once."""
    while True:
        db.execute("BEGIN IMMEDIATE")
        try:
            version = _version(db, path, steps)
            if version < len(steps):
                for statement in steps[version]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        if version >= len(steps) - 1:
            return


def _version(db: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> int:
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if version > len(steps):
        raise StoreTooNew(
            f"{path} has schema version {version}; this hudkit knows up to {len(steps)}",
            hint="Use the version of hudkit that wrote it, or a newer one",
            version=version,
        )
    if version < 0 or ours != (version > 0) or empty != (version == 0):
        finding = Finding("file", "", 0, f"{path} holds no sessions of hudkit")
        raise StoreDamaged(finding.message, hint="Name another file", finding=finding)
    return version
