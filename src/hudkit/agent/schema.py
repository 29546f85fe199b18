"""The tables of the sessions' database, the numbered steps that make them, and the connections to its file.

`messages.position` and `parts.position` give the order in which each was first stored. Bodies are JSON of the structs
of `records`; the columns beside a body are what is asked for without reading it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hudkit.log.stores.connect import connect_reader, connect_writer
from hudkit.log.stores.faults import typed
from hudkit.log.stores.migrations import Schema, Step, check_current, check_version, migrate
from hudkit.log.stores.paths import check_place, create_private

FILE = "sessions.db"
"""The name of the database in hudkit's data directory."""

APPLICATION_ID = 0x4855444C
"""`PRAGMA application_id` of every file of sessions (the letters HUDL)."""

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
"""A released step is never edited: see `Schema`."""


SCHEMA = Schema(
    APPLICATION_ID,
    MIGRATIONS,
    "holds no sessions of hudkit",
    "Name another file",
    keeps_copy=False,
)
"""What `migrations` needs to know of a file of sessions."""


def open_writer(path: Path, timeout: float, schema: Schema = SCHEMA) -> sqlite3.Connection:
    """Return a connection that writes; the file is made (0600, in a directory of one's own) where it is missing.

    `timeout` is how many seconds it waits for locks. Raises a `StoreError`: `StoreTooNew` for a newer version's file,
    `StoreDamaged` for what is not ours.
    """
    with typed(path):
        check_place(path, create=True)
        with suppress(FileExistsError):
            create_private(path)
        if path.stat().st_size:  # a newer or a foreign file stays as it is: look before anything is written
            probe = connect_reader(path, timeout)
            try:
                check_version(probe, path, schema)
            finally:
                probe.close()
        db = connect_writer(path, timeout)
        try:
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA wal_autocheckpoint = 1000")
            migrate(db, path, schema)
        except BaseException:
            db.close()
            raise
        return db


def open_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that only reads. Raises a `StoreError`, also where there is no file yet."""
    with typed(path):
        check_place(path, create=False)
        path.stat()
        db = connect_reader(path, timeout)
        try:
            check_current(db, path, SCHEMA)
        except BaseException:
            db.close()
            raise
        return db
