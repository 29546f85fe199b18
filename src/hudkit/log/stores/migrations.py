"""Numbered migrations of SQLite files: the one runner that every versioned database of ours uses.

A database is described by a `Schema`: the number that marks its files, and the steps that make its tables. The
version of a file is its `PRAGMA user_version`: how many of the steps it has had. Opening a file for writing runs the
steps that are missing, in order:

    steps = (create tables, add the archive)
    user_version 0 (a new, empty file)  -> both steps run, the version becomes 1, then 2
    user_version 1 (an older release)   -> a copy is made, the second step runs, the version becomes 2
    user_version 3 (a newer release)    -> `StoreTooNew`, and nothing is written
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hudkit.errors import StoreDamaged, StoreReadOnly, StoreTooNew
from hudkit.log import Finding
from hudkit.log.stores.sqlite_files import companion_path, create_private_file, sync_directory

MigrationStep = tuple[str, ...]
"""The statements of one migration."""


class Schema(NamedTuple):
    """What one kind of database file is.

    `steps[n]` brings a file from version n to n + 1. A released step is never edited: files that have had it exist.
    `foreign` and `hint` are the words of the error for another program's file. `keeps_copy` says whether a file that
    holds data is copied before its first step. `was_unmarked`: the first release wrote files with the definitions of
    the first step and without a mark; that step changes no definition of theirs.
    """

    application_id: int
    steps: Sequence[MigrationStep]
    foreign: str
    hint: str
    keeps_copy: bool = True
    was_unmarked: bool = False


def check_version(db: sqlite3.Connection, path: Path, schema: Schema) -> int:
    """Return the schema version of a file, from 0 (empty) to the last one.

    Raises `StoreTooNew` for a file of a newer release, and `StoreDamaged` for another program's database.
    """
    version, marked, empty = _read_header(db, schema.application_id)
    if version > len(schema.steps):
        raise StoreTooNew(
            f"{path} has schema version {version}; this hudkit knows up to {len(schema.steps)}",
            hint="Use the version of hudkit that wrote it, or a newer one",
            version=version,
        )
    if version == 0 and not marked and schema.was_unmarked:
        # A part of them is all that a process which was killed in the middle had made.
        unmarked = _stored_definitions(db).items() <= _expected_definitions((schema.steps[0],)).items()
        marked, empty = False, empty or unmarked
    if version < 0 or marked != (version > 0) or empty != (version == 0):
        finding = Finding("file", "", 0, f"{path} {schema.foreign}")
        raise StoreDamaged(finding.message, hint=schema.hint, finding=finding)
    return version


def check_current(db: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Check a file that may not be changed, as `check_version` does; return nothing.

    Raises `StoreReadOnly` where the file would have to be migrated first.
    """
    version = check_version(db, path, schema)
    if version < len(schema.steps):
        raise StoreReadOnly(
            f"{path} has schema version {version}; it must be brought to {len(schema.steps)} before it can be read",
            hint="Open it once for writing",
        )


def check_definitions(db: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Check that tables, indexes, triggers and views of a file at the last version are those that the steps make.

    Returns nothing. A trigger can take back what was acknowledged, and a view can show what was never written (abuse
    case D7). Raises `StoreDamaged`, which names what was altered.
    """
    expected, stored = _expected_definitions(tuple(schema.steps)), _stored_definitions(db)
    if stored == expected:
        return
    added = [f"{stored[name][0]} {name}" for name in sorted(stored.keys() - expected.keys())]
    altered = [f"{thing} was added" for thing in added]
    for name, definition in sorted(expected.items()):
        if stored.get(name, definition) != definition:
            altered.append(f"{definition[0]} {name} was changed")
        elif name not in stored:
            altered.append(f"{definition[0]} {name} is missing")
    finding = Finding("file", "", 0, f"{path}: its schema was altered: {', '.join(altered)}")
    hint = "Put a copy of the file back; of a log, `hudkit repair` writes one anew"
    if len(added) == len(altered):
        drops = "; ".join(f"DROP {thing}" for thing in added)
        hint = f"Take back what was added, with the sqlite3 program ({drops}); of a log, `hudkit repair` does"
    raise StoreDamaged(finding.message, hint=hint, finding=finding)


def _stored_definitions(db: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Return kind and definition of everything in a file, by name."""
    rows = db.execute("SELECT name, type, sql FROM sqlite_master").fetchall()
    # What ANALYZE leaves behind changes no answer.
    return {str(name): (str(kind), str(sql)) for name, kind, sql in rows if not str(name).startswith("sqlite_stat")}


@cache
def _expected_definitions(steps: tuple[MigrationStep, ...]) -> dict[str, tuple[str, str]]:
    """Return what `_stored_definitions` gives for a file that nobody else has altered."""
    db = sqlite3.connect(":memory:", isolation_level=None)
    try:
        for step in steps:
            for statement in step:
                db.execute(statement)
        return _stored_definitions(db)
    finally:
        db.close()


def migrate(db: sqlite3.Connection, path: Path, schema: Schema) -> bool:
    """Bring a file to the last version; return whether there was something to do.

    Each step is one transaction: a crash leaves the file before or after a step, never between. Raises what
    `check_version` raises.
    """
    version = check_version(db, path, schema)
    if version == len(schema.steps):
        return False
    if version and schema.keeps_copy:
        _back_up(db, path, version)
    while version < len(schema.steps):
        db.execute("BEGIN IMMEDIATE")
        try:
            # read again under the write lock: two processes that open an old file at once do each step once
            version = check_version(db, path, schema)
            if version < len(schema.steps):
                for statement in schema.steps[version]:
                    db.execute(statement)
                version += 1
                db.execute(f"PRAGMA user_version = {version}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    # Also those of a process that began a copy of its own meanwhile, and was killed.
    _remove_half_copies(path)
    return True


def _read_header(db: sqlite3.Connection, application_id: int) -> tuple[int, bool, bool]:
    """Return the version, whether the file is marked as ours, and whether it is empty."""
    alone = not db.in_transaction
    if alone:
        db.execute("BEGIN")  # all three of one moment: another process may be migrating
    try:
        empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        marked = db.execute("PRAGMA application_id").fetchone()[0] == application_id
    finally:
        if alone and db.in_transaction:
            db.execute("ROLLBACK")
    return version, marked, empty


def _back_up(db: sqlite3.Connection, path: Path, version: int) -> None:
    """Write a durable copy of the whole database to `NAME.vN.bak`, mode 0600."""
    final = companion_path(path, f".v{version}.bak")
    _remove_half_copies(path)
    part = companion_path(path, f".v{version}.bak.{os.getpid()}")
    part.unlink(missing_ok=True)
    create_private_file(part)
    copy = sqlite3.connect(part, isolation_level=None)
    try:
        copy.execute("PRAGMA synchronous = FULL")
        db.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()
    part.replace(final)  # only now: a copy of this name is always complete
    sync_directory(path.parent)


def _remove_half_copies(path: Path) -> None:
    """Remove copies that were begun by processes that are gone, with their journals: they hold what the file held."""
    for part in path.parent.glob(f"{glob.escape(path.name)}.v*.bak.*"):
        number = part.name.rpartition(".")[2].partition("-")[0]
        if number.isascii() and number.isdecimal() and not _is_running(int(number[:12])):
            part.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass  # another user's, or no number of a process: whose it is cannot be known
    return True
