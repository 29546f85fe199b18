"""Events of one session out of the tables, page by page, each verified before it is handed out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hudkit.errors import StoreDamaged
from hudkit.log import Event, Finding
from hudkit.log.codec import GENESIS, digest
from hudkit.log.stores.appending import COLUMNS
from hudkit.log.stores.archive import Unpacked
from hudkit.log.stores.rows import MESSAGES, Row, damaged, open_row, redacted_by
from hudkit.log.stores.scan import missing

_PAGE = f"SELECT {COLUMNS} FROM events WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 64, 1024, 4_000_000

Fetch = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""All rows of a query with its arguments; runs under the log's lock, errors come typed."""


def last_seq(db: sqlite3.Connection, session_id: str) -> int:
    """The last sequence number that is stored, 0 for an unknown session."""
    query = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
    return int(db.execute(query, (session_id,)).fetchone()[0])


def promised_seq(db: sqlite3.Connection, session_id: str) -> int:
    """The last sequence number that should be there: what is stored, or what the session's head says."""
    row = db.execute("SELECT seq FROM heads WHERE session_id = ?", (session_id,)).fetchone()
    said = row[0] if row is not None and type(row[0]) is int else 0
    return max(last_seq(db, session_id), said)


def read_events(fetch: Fetch, session_id: str, after: int, end: int) -> Iterator[Event]:
    """Events with `after < seq <= end`.

    The rule: each body is checked against its digest and each envelope against the link stored with the event before;
    the first event of all against the start of the chain. What comes before `after` is not looked at (`verify`
    does). A missing body is archived, or needs a `redact` event that names it. Raises `StoreDamaged` at the first
    event that does not verify; the ones before it have been handed out.
    """
    at, limit = after, _FIRST_ROWS
    previous = _link_at(fetch, session_id, at) if after < end else GENESIS
    redacted: frozenset[int] | None = None
    archived = Unpacked(fetch)
    while at < end:
        try:
            page = fetch(_PAGE, (session_id, at, end, limit))
        except StoreDamaged:
            if limit == 1:
                raise
            limit = 1  # hand out what can be read of this page
            continue
        size = 0
        for values in page:
            row = Row(*values)
            if row.seq != at + 1:
                raise damaged(missing(session_id, at + 1))
            if row.body is None:
                row = row._replace(body=archived.body(session_id, row.seq))
            if row.body is None:
                redacted = _redacted(fetch, session_id) if redacted is None else redacted
                if row.seq not in redacted:
                    row = row._replace(body=_put_back(fetch, session_id, row.seq))
                if row.body is None and row.seq not in redacted:
                    raise damaged(Finding("payload", session_id, row.seq, f"event {row.seq}: {MESSAGES['payload']}"))
            yield open_row(row, previous)
            at, previous = row.seq, row.link
            size += len(row.body or b"")
        if not page:
            raise damaged(missing(session_id, at + 1))
        if limit > 1:
            limit = max(2, min(_MOST_ROWS, _PAGE_BYTES * len(page) // (size + 1)))


def _link_at(fetch: Fetch, session_id: str, seq: int) -> bytes:
    if seq == 0:
        return GENESIS
    query = "SELECT link FROM events WHERE session_id = ? AND seq = ?"
    found = fetch(query, (session_id, seq))
    if not found:
        raise damaged(missing(session_id, seq))
    link = found[0][0]
    if type(link) is not bytes:
        raise damaged(Finding("chain", session_id, seq, f"event {seq}: {MESSAGES['chain']}"))
    return link


def _put_back(fetch: Fetch, session_id: str, seq: int) -> bytes | None:
    """The body of an event that was taken out of the archive since its row was read."""
    found = fetch("SELECT body FROM events WHERE session_id = ? AND seq = ?", (session_id, seq))
    return found[0][0] if found and type(found[0][0]) is bytes else None


def _redacted(fetch: Fetch, session_id: str) -> frozenset[int]:
    query = f"SELECT {COLUMNS} FROM events WHERE session_id = ? AND type = 'redact'"
    rows = [Row(*values) for values in fetch(query, (session_id,))]
    sound = (row for row in rows if type(row.body) is bytes and digest(row.body) == row.digest)
    return frozenset(target for row in sound if (target := redacted_by(row)) is not None)
