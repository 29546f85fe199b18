"""Verification: everything that can be wrong with an SQLite log, found by reading all of it once.

Four looks, of which each goes on where another fails: SQLite's own integrity check, the definitions of the tables,
the hash chain of every session (`hash_chain.ChainScan`), and what was recorded as damage before. Then the high-water
mark: events that were acknowledged and are gone leave no other trace.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from hudkit.errors import StoreDamaged, StoreError
from hudkit.log import Finding
from hudkit.log.stores.hash_chain import ChainHead, ChainScan, EventRow
from hudkit.log.stores.high_water_mark import HighWaterMark, HighWaterMarkFile
from hudkit.log.stores.log_tables import (
    COLUMNS,
    LOG_SCHEMA,
    ArchiveReader,
    expected_table_definitions,
    last_position,
    last_seq,
    table_definitions,
)
from hudkit.log.stores.migrations import check_current
from hudkit.log.stores.sqlite_files import companion_path, connect_reader, escape_invalid_text

_Part = Callable[[sqlite3.Connection], list[Finding]]
_MALFORMED = (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError, UnicodeError, TypeError, ValueError)


def verify_database(path: Path, timeout: float) -> list[Finding]:
    """Return all findings of a log: of the file, of the first bad event of each session, of what was lost.

    Reads on a connection of its own, as of one moment, and holds up no writer. Raises `StoreError` only where the
    file cannot be opened for another reason than damage (`StoreBusy`, say).
    """
    mark = _read_mark(path, timeout)  # before the events: a writer may be at work, and its mark follows its commit
    try:
        db = escape_invalid_text(connect_reader(path, timeout))
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]
    try:
        db.execute("BEGIN")
        check_current(db, path, LOG_SCHEMA)
        findings: list[Finding] = []
        for part in (_integrity, _tables, _events, _recorded):
            findings += _guarded(part, db, path)
        if not any(finding.code == "file" for finding in findings):
            lost = compare_mark(db, mark)
            findings += [] if lost is None else [lost]
        return list(dict.fromkeys(findings))
    except StoreDamaged as error:
        return [_finding_of(error)]
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]
    finally:
        db.close()


def _read_mark(path: Path, timeout: float) -> HighWaterMark | bytes:
    """Return the mark beside a database, or the bytes that are not one; empty bytes where there is none."""
    try:
        mark = HighWaterMarkFile(companion_path(path, ".mark"), read_only=True)
    except FileNotFoundError:
        return b""
    try:
        return mark.read(timeout)
    finally:
        mark.close()


def compare_mark(db: sqlite3.Connection, mark: HighWaterMark | bytes) -> Finding | None:
    """Return what a mark knows that the database does not.

    `None` where the database holds the event that the mark names.
    """
    if not isinstance(mark, HighWaterMark):
        return Finding("file", "", 0, "the high-water mark was damaged") if mark else None
    if mark.position == 0:
        return None
    last = last_position(db)
    if last < mark.position:
        first = min(last_seq(db, mark.session_id) + 1, mark.seq)
        message = (
            f"event {first}: lost; {mark.position - last} acknowledged events are missing,"
            f" the last was event {mark.seq} of this session"
        )
        return Finding("lost", mark.session_id, first, message)
    row = db.execute("SELECT session_id, seq, link FROM events WHERE position = ?", (mark.position,)).fetchone()
    if row != (mark.session_id, mark.seq, mark.link):
        return Finding("lost", mark.session_id, mark.seq, f"event {mark.seq}: another event took its place")
    return None


def _guarded(part: _Part, db: sqlite3.Connection, path: Path) -> list[Finding]:
    try:
        return part(db)
    except _MALFORMED as error:
        return [Finding("file", "", 0, f"{path}: {error}")]


def _integrity(db: sqlite3.Connection) -> list[Finding]:
    problems = [str(row[0]) for row in db.execute("PRAGMA integrity_check(3)")]
    return [] if problems == ["ok"] else [Finding("file", "", 0, "; ".join(problems))]


def _tables(db: sqlite3.Connection) -> list[Finding]:
    there, expected = table_definitions(db), expected_table_definitions()
    odd = sorted(name for name in there.keys() | expected.keys() if there.get(name) != expected.get(name))
    return [Finding("file", "", 0, f"tables were altered: {', '.join(odd)}")] if odd else []


def _events(db: sqlite3.Connection) -> list[Finding]:
    scan = ChainScan()
    findings: list[Finding] = []
    archived = ArchiveReader(lambda sql, args: db.execute(sql, args).fetchall())
    try:
        for position, *values in db.execute(f"SELECT position, {COLUMNS} FROM events NOT INDEXED ORDER BY position"):
            row = EventRow(*values)
            if row.body is None:
                row = row._replace(body=archived.body(row.session_id, row.seq))
            scan.take(position, row)
        without_head = set(scan.sessions())
        for session_id, seq, link in db.execute("SELECT session_id, seq, link FROM heads ORDER BY key"):
            scan.expect(session_id, ChainHead(seq, link))
            without_head.discard(session_id)
        findings += [Finding("chain", id_, 1, f"session {id_!a} has events but no head") for id_ in without_head]
    except _MALFORMED as error:
        findings.append(Finding("file", "", 0, str(error)))
    bad = {finding.session_id for finding in scan.findings()}
    return scan.findings() + [finding for finding in findings if finding.session_id not in bad]


def _recorded(db: sqlite3.Connection) -> list[Finding]:
    return [Finding(*row) for row in db.execute("SELECT code, session_id, seq, message FROM damage ORDER BY key")]


def _finding_of(error: StoreError) -> Finding:
    finding = error.details.get("finding")
    return finding if isinstance(finding, Finding) else Finding("file", "", 0, error.message)
