"""What one batch does to the tables, inside a write transaction that somebody else opens and commits."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from hudkit.log import Batch, Event, Finding
from hudkit.log.codec import GENESIS
from hudkit.log.stores.archive import erase
from hudkit.log.stores.mark import Mark
from hudkit.log.stores.rows import Head, Row, build, check_id, damaged
from hudkit.log.stores.scan import missing

COLUMNS = ", ".join(Row._fields)

_INSERT = f"INSERT INTO events (position, {COLUMNS}) VALUES ({', '.join('?' * (len(Row._fields) + 1))})"
_STANDING = """
    SELECT (SELECT max(position) FROM events), h.key, h.seq, h.link, e.seq, e.link
    FROM (SELECT 1)
    LEFT JOIN heads h ON h.session_id = ?1
    LEFT JOIN events e ON e.session_id = ?1 AND e.seq = (SELECT max(seq) FROM events WHERE session_id = ?1)
"""
_PAGE = 4096


class Written(NamedTuple):
    """What a batch left behind: its events as stored, the mark of the last one, pages that it touched, redactions."""

    events: tuple[Event, ...]
    mark: Mark | None
    pages: int
    erased: bool


def last_position(db: sqlite3.Connection) -> int:
    """The global position of the last event of all sessions; 0 where there is none."""
    return int(db.execute("SELECT coalesce(max(position), 0) FROM events").fetchone()[0])


def store_batch(db: sqlite3.Connection, batch: Batch) -> Written:
    """Insert a batch behind the last event. A `StoreError` means that none of the batch's rows was inserted."""
    session_id = check_id(batch.session_id, "a session id")  # before SQLite sees it
    position, key, head = _standing(db, session_id)
    built = build(batch, head, lambda seq: _type_at(db, session_id, seq))
    rows = built.rows
    if not rows:
        return Written((), None, 0, False)
    if len(rows) == 1:
        db.execute(_INSERT, (position + 1, *rows[0]))
    else:
        db.executemany(_INSERT, [(at, *row) for at, row in enumerate(rows, position + 1)])
    last = rows[-1]
    if key is None:
        db.execute("INSERT INTO heads (session_id, seq, link) VALUES (?, ?, ?)", (session_id, last.seq, last.link))
    else:
        db.execute("UPDATE heads SET seq = ?, link = ? WHERE key = ?", (last.seq, last.link, key))
    for target in built.erased:
        db.execute("UPDATE events SET body = NULL WHERE session_id = ? AND seq = ?", (session_id, target))
        erase(db, session_id, target)
        db.execute("DELETE FROM snapshots WHERE session_id = ? AND seq >= ?", (session_id, target))
    pages = 3 + sum(len(row.body or b"") // _PAGE for row in rows)
    mark = Mark(position + len(rows), session_id, last.seq, last.link)
    return Written(built.events, mark, pages, any(event.type == "redact" for event in built.events))


def record(db: sqlite3.Connection, finding: Finding) -> None:
    """Write a finding down for good; `verify` repeats it from then on."""
    db.execute(
        "INSERT OR IGNORE INTO damage (code, session_id, seq, message) VALUES (?, ?, ?, ?)",
        (finding.code, finding.session_id, finding.seq, finding.message),
    )


def _standing(db: sqlite3.Connection, session_id: str) -> tuple[int, int | None, Head]:
    """The last global position, the key of the session's row in `heads`, and where the session's events end.

    The events are the truth. Where the head says otherwise, somebody changed the tables by hand: that is recorded,
    and the session goes on from the events that are left.
    """
    position, key, said_seq, said_link, seq, link = db.execute(_STANDING, (session_id,)).fetchone()
    if seq is None:
        seq, link = 0, GENESIS
    if type(seq) is not int or type(link) is not bytes:
        raise damaged(Finding("chain", session_id, 0, "the last event cannot be read"))
    if (said_seq, said_link) != (seq, link) and (key is not None or seq):
        lost = type(said_seq) is int and said_seq > seq
        message = f"the session's events end at {seq}, its head says otherwise"
        record(db, missing(session_id, seq + 1) if lost else Finding("chain", session_id, seq, message))
    return position or 0, key, Head(seq, link)


def _type_at(db: sqlite3.Connection, session_id: str, seq: int) -> str | None:
    row = db.execute("SELECT type FROM events WHERE session_id = ? AND seq = ?", (session_id, seq)).fetchone()
    return None if row is None else str(row[0])
