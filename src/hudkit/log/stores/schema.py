"""The tables of an SQLite log, and the numbered steps that bring an older file to them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from hudkit.errors import StoreReadOnly, StoreTooNew
from hudkit.log import Finding
from hudkit.log.stores.paths import beside, create_private, sync_directory
from hudkit.log.stores.rows import damaged

APPLICATION_ID = 0x4855444B
"""`PRAGMA application_id` of every file of ours (the letters HUDK)."""

Step = tuple[str, ...]

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
"""Step `n` (from 0) brings a file from `PRAGMA user_version` n to n + 1, in one transaction.

A released step is never edited."""


def check_version(db: sqlite3.Connection, path: Path, steps: Sequence[Step] = MIGRATIONS) -> int:
    """The file's schema version; 0 where it is empty.

    Raises `StoreTooNew`, and `StoreDamaged` where the file is another program's database.
    """
    version, ours, empty = _one_look(db)
    if version > len(steps):
        raise StoreTooNew(
            f"{path} has schema version {version}; this hudkit knows up to {len(steps)}",
            hint="Use the version of hudkit that wrote it, or a newer one",
            version=version,
        )
    if version < 0 or ours != (version > 0) or empty != (version == 0):
        raise damaged(Finding("file", "", 0, f"{path} is not a log of hudkit"))
    return version


def _one_look(db: sqlite3.Connection) -> tuple[int, bool, bool]:
    """Version, whether the file is ours and whether it is empty, as of one moment: others may be migrating."""
    alone = not db.in_transaction
    if alone:
        db.execute("BEGIN")
    try:
        empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    finally:
        if alone and db.in_transaction:
            db.execute("ROLLBACK")
    return version, ours, empty


def check_current(db: sqlite3.Connection, path: Path, steps: Sequence[Step] = MIGRATIONS) -> None:
    """`check_version` for a file that may not be changed. Raises `StoreReadOnly` where it would have to be."""
    version = check_version(db, path, steps)
    if version < len(steps):
        raise StoreReadOnly(
            f"{path} has schema version {version}; it must be brought to {len(steps)} before it can be read",
            hint="Open it once for writing",
        )


def migrate(db: sqlite3.Connection, path: Path, steps: Sequence[Step] = MIGRATIONS) -> bool:
    """Bring the file to the last version, a copy first where it has any; whether there was something to do.

    Each step is one transaction: a crash leaves the file before or after a step, never between. The version is read
    again under the write lock, so that two processes that open an old file at once do each step once.
    """
    version = check_version(db, path, steps)
    if version == len(steps):
        return False
    if version:
        back_up(db, path, version)
    while version < len(steps):
        db.execute("BEGIN IMMEDIATE")
        try:
            version = check_version(db, path, steps)
            if version < len(steps):
                for statement in steps[version]:
                    db.execute(statement)
                version += 1
                db.execute(f"PRAGMA user_version = {version}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    return True


def back_up(db: sqlite3.Connection, path: Path, version: int) -> Path:
    """A durable copy of the whole database, `NAME.vN.bak`, 0600; it appears under that name only when complete."""
    final = beside(path, f".v{version}.bak")
    part = beside(path, f".v{version}.bak.{os.getpid()}")
    part.unlink(missing_ok=True)
    create_private(part)
    copy = sqlite3.connect(part, isolation_level=None)
    try:
        copy.execute("PRAGMA synchronous = FULL")
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()
    part.replace(final)
    sync_directory(path.parent)
    return final


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
