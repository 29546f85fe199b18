"""The tables of an SQLite log, and the numbered steps that bring an older file to them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from hudkit.log.stores.migrations import Schema, Step

APPLICATION_ID = 0x4855444B
"""`PRAGMA application_id` of every file of ours (the letters HUDK)."""

MIGRATIONS: Sequence[Step] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        # `position` orders the events of all sessions and has no gap either
        """CREATE TABLE events (
            position INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            id TEXT NOT NULL,
            turn INTEGER NOT NULL,
            timestamp INTEGER NOT NULL,
            type TEXT NOT NULL,
            v INTEGER NOT NULL,
            origin TEXT NOT NULL,
            body BLOB,
            digest BLOB NOT NULL,
            link BLOB NOT NULL,
            UNIQUE (session_id, seq)
        )""",
        # one row per session: where its chain ends, so that a tail taken away by hand is noticed
        """CREATE TABLE heads (
            key INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL UNIQUE,
            seq INTEGER NOT NULL,
            link BLOB NOT NULL
        )""",
        """CREATE TABLE snapshots (
            key INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            version TEXT NOT NULL,
            seq INTEGER NOT NULL,
            body BLOB NOT NULL,
            digest BLOB NOT NULL,
            UNIQUE (session_id, version, seq)
        )""",
        """CREATE TABLE damage (
            key INTEGER PRIMARY KEY,
            code TEXT NOT NULL,
            session_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            message TEXT NOT NULL,
            UNIQUE (code, session_id, seq)
        )""",
    ),
    (
        # bodies of old events, compressed; those of events from `first` to `last`, some of which may be elsewhere
        """CREATE TABLE archive (
            key INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            body BLOB NOT NULL
        )""",
        "CREATE INDEX archive_of ON archive (session_id, first)",
    ),
)
"""A released step is never edited: see `Schema`."""


SCHEMA = Schema(
    APPLICATION_ID,
    MIGRATIONS,
    "is not a log of hudkit",
    "`verify` lists everything that is damaged; the events before it can be read",
)
"""What `migrations` needs to know of a log's file."""


def definitions(db: sqlite3.Connection) -> dict[str, str]:
    """Every table and index by name with its definition, as stored."""
    return {str(name): str(sql) for name, sql in db.execute("SELECT name, sql FROM sqlite_master ORDER BY name")}


def expected_definitions(steps: Sequence[Step] = MIGRATIONS) -> dict[str, str]:
    """What `definitions` gives for a file that nobody else has altered."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in steps:
            for statement in step:
                db.execute(statement)
        return definitions(db)
    finally:
        db.close()
