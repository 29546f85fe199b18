"""The tables of an SQLite log, and every statement that writes or reads them.

All functions here run inside a transaction that `sqlite_log` opens and commits. `events` holds one row an event and
is the truth; `heads` says where each session's chain ends, so that a tail taken away by hand is noticed; `damage`
keeps what was found, for good; `snapshots` and `archive` hold nothing that is not in the events.

The archive: bodies of old events, compressed by chunks of `CHUNK_EVENTS`. The rows of the events stay where they are,
with digests and links, so that everything reads and verifies as before; only `body` moves:

    events: seq 1..600 with bodies  --archive below 513-->  seq 1..512 with body NULL, 513..600 as they were
    archive: (first 1, last 256, zlib bytes), (first 257, last 512, zlib bytes)

A body that is not in its row is looked for in the chunks that span its number. A redaction opens the chunk, takes
the one body out and writes the chunk anew.
"""

from __future__ import annotations

import sqlite3
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from hudkit.errors import StoreDamaged, StoreError
from hudkit.lazy import blake2b
from hudkit.log import Batch, Event, EventDraft, Finding, Origin, Snapshot, type_of
from hudkit.log.codec import GENESIS, payload_digest
from hudkit.log.payloads import EventGap
from hudkit.log.stores.hash_chain import (
    FINDING_MESSAGES,
    ChainHead,
    EventRow,
    check_id,
    damage_error,
    decode_row,
    missing_event,
    prepare_batch,
    redaction_target,
    row_link,
)
from hudkit.log.stores.high_water_mark import HighWaterMark
from hudkit.log.stores.migrations import MigrationStep, Schema

APPLICATION_ID = 0x4855444B
"""`PRAGMA application_id` of every file of ours (the letters HUDK)."""

LOG_MIGRATIONS: Sequence[MigrationStep] = (
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


LOG_SCHEMA = Schema(
    APPLICATION_ID,
    LOG_MIGRATIONS,
    "is not a log of hudkit",
    "`verify` lists everything that is damaged; the events before it can be read",
)
"""What `migrations` needs to know of a log's file."""


# -- the archive -----------------------------------------------------------------------------------------------------


CHUNK_EVENTS = 256
"""Events of one chunk: one is unpacked to read any of them."""

MAX_CHUNK_BYTES = 256 * 1024 * 1024
"""Bytes of a chunk's bodies; what is unpacked to more is damaged."""

_ZLIB_LEVEL = 9
_encode_bodies = msgspec.msgpack.Encoder().encode
_decode_bodies = msgspec.msgpack.Decoder(dict[int, bytes]).decode

_SELECT_BODIES = """
    SELECT seq, body FROM events
    WHERE session_id = ? AND seq > ? AND seq < ? AND body IS NOT NULL AND type != 'redact' ORDER BY seq LIMIT ?
"""
_SELECT_CHUNKS = "SELECT body FROM archive WHERE session_id = ? AND first <= ? AND last >= ? ORDER BY key"


class ArchivedBodies(NamedTuple):
    """What was moved: events, the bytes of their bodies and of the chunks; `last` is the last event, 0: no more."""

    events: int = 0
    bytes: int = 0
    packed: int = 0
    last: int = 0


def archive_chunk(db: sqlite3.Connection, session_id: str, after: int, below: int) -> ArchivedBodies:
    """Move the bodies of the next events with `after < seq < below` into one chunk; return what was moved."""
    rows = db.execute(_SELECT_BODIES, (session_id, after, below, CHUNK_EVENTS)).fetchall()
    bodies = {seq: body for seq, body in rows if type(body) is bytes}
    if not bodies:
        return ArchivedBodies(last=rows[-1][0] if rows else 0)
    chunk = zlib.compress(_encode_bodies(bodies), _ZLIB_LEVEL)
    first, last = min(bodies), max(bodies)
    db.execute(
        "INSERT INTO archive (session_id, first, last, body) VALUES (?, ?, ?, ?)", (session_id, first, last, chunk)
    )
    db.executemany(
        "UPDATE events SET body = NULL WHERE session_id = ? AND seq = ?", [(session_id, seq) for seq in bodies]
    )
    return ArchivedBodies(len(bodies), sum(map(len, bodies.values())), len(chunk), last)


def unarchive_chunk(db: sqlite3.Connection, session_id: str) -> ArchivedBodies:
    """Put the bodies of one chunk back into their events and remove it; return what was moved.

    Raises `ValueError` for a damaged chunk.
    """
    row = db.execute("SELECT key, body FROM archive WHERE session_id = ? LIMIT 1", (session_id,)).fetchone()
    if row is None:
        return ArchivedBodies()
    bodies = _unpack_chunk(row[1])
    if bodies is None:
        raise ValueError(f"archived events of session {session_id} cannot be unpacked")
    db.executemany(
        "UPDATE events SET body = ? WHERE session_id = ? AND seq = ? AND body IS NULL",
        [(body, session_id, seq) for seq, body in bodies.items()],
    )
    db.execute("DELETE FROM archive WHERE key = ?", row[:1])
    return ArchivedBodies(len(bodies), sum(map(len, bodies.values())), len(row[1]), max(bodies, default=0))


def _erase_archived(db: sqlite3.Connection, session_id: str, seq: int) -> None:
    """Take one event's body out of the chunk that holds it; a chunk that cannot be opened is left to `verify`."""
    sql = "SELECT key, body FROM archive WHERE session_id = ? AND first <= ? AND last >= ?"
    for key, chunk in db.execute(sql, (session_id, seq, seq)).fetchall():
        bodies = _unpack_chunk(chunk)
        if bodies is not None and bodies.pop(seq, None) is not None:
            db.execute(
                "UPDATE archive SET body = ? WHERE key = ?", (zlib.compress(_encode_bodies(bodies), _ZLIB_LEVEL), key)
            )


def _unpack_chunk(chunk: object) -> dict[int, bytes] | None:
    """Return the bodies of a chunk by sequence number; `None` where it is damaged."""
    if type(chunk) is not bytes:
        return None
    try:
        packed = zlib.decompressobj()
        # Bounded: a damaged chunk must not unpack to more memory than there is.
        raw = packed.decompress(chunk, MAX_CHUNK_BYTES)
        return _decode_bodies(raw) if packed.eof else None
    except (zlib.error, msgspec.MsgspecError, MemoryError, RecursionError):
        return None


class ArchiveReader:
    """Reads bodies of archived events one by one; the last chunk of each session stays unpacked."""

    def __init__(self, fetch: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]) -> None:
        self._fetch = fetch
        self._open: dict[str, dict[int, bytes]] = {}

    def body(self, session_id: str, seq: int) -> bytes | None:
        """Return the body of an event; `None` where no chunk that can be unpacked has it."""
        bodies_of_chunk = self._open.get(session_id)
        if bodies_of_chunk is None or seq not in bodies_of_chunk:
            for (chunk,) in self._fetch(_SELECT_CHUNKS, (session_id, seq, seq)):
                bodies = _unpack_chunk(chunk)
                if bodies is not None and seq in bodies:
                    bodies_of_chunk = self._open[session_id] = bodies
                    break
            else:
                return None
        return bodies_of_chunk[seq]


# -- appending -------------------------------------------------------------------------------------------------------


COLUMNS = ", ".join(EventRow._fields)

_INSERT_EVENT = f"INSERT INTO events (position, {COLUMNS}) VALUES ({', '.join('?' * (len(EventRow._fields) + 1))})"
_SELECT_CHAIN_END = """
    SELECT (SELECT max(position) FROM events), h.key, h.seq, h.link, e.seq, e.link
    FROM (SELECT 1)
    LEFT JOIN heads h ON h.session_id = ?1
    LEFT JOIN events e ON e.session_id = ?1 AND e.seq = (SELECT max(seq) FROM events WHERE session_id = ?1)
"""
_SQLITE_PAGE_BYTES = 4096


class BatchAppends(ABC):
    """The appending of both stores on SQL, by the one method in which they differ."""

    _refusals_of_all: tuple[type[StoreError], ...]
    """Errors that no batch by itself is the cause of."""

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none, durably; return the events as stored. See `EventLog.append`."""
        return self.append_together((Batch(session_id, tuple(drafts), expected),))[0]

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append all of several batches or none, in one durable commit. See `EventLog.append_together`."""
        answers = self._commit(batches, together=True)
        return [answer for answer in answers if not isinstance(answer, StoreError)]

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches in one durable commit; return an answer for each. See `EventLog.append_many`."""
        try:
            return self._commit(batches, together=False)
        except self._refusals_of_all:
            raise
        except StoreError:
            if len(batches) < 2:
                raise
        return [self._alone(batch) for batch in batches]  # one of them cannot be written: the others can

    def _alone(self, batch: Batch) -> tuple[Event, ...] | StoreError:
        try:
            return self._commit((batch,), together=False)[0]
        except StoreError as error:
            return error

    @abstractmethod
    def _commit(self, batches: Sequence[Batch], *, together: bool) -> list[tuple[Event, ...] | StoreError]:
        """Append batches in one durable commit; return an answer for each.

        One that cannot be appended is answered with its error; with `together` it is raised, and nothing is appended.
        """
        ...


class _StoredBatch(NamedTuple):
    """What a batch left behind: its events as stored, the mark of the last one, and the pages that it touched.

    `erased` says whether it redacted something: the write-ahead log then still holds the old bytes.
    """

    events: tuple[Event, ...]
    mark: HighWaterMark | None
    pages: int
    erased: bool


def store_batch(db: sqlite3.Connection, batch: Batch) -> _StoredBatch:
    """Insert a batch behind the last event; return its events and the mark to write after the commit.

    A `StoreError` means that none of the batch's rows was inserted.
    """
    session_id = check_id(batch.session_id, "a session id")  # before SQLite sees it
    position, key, head = _chain_end(db, session_id)
    built = prepare_batch(batch, head, lambda seq: _type_at(db, session_id, seq))
    rows = built.rows
    if not rows:
        return _StoredBatch((), None, 0, False)
    if len(rows) == 1:
        db.execute(_INSERT_EVENT, (position + 1, *rows[0]))
    else:
        db.executemany(_INSERT_EVENT, [(place, *row) for place, row in enumerate(rows, position + 1)])
    last = rows[-1]
    if key is None:
        db.execute("INSERT INTO heads (session_id, seq, link) VALUES (?, ?, ?)", (session_id, last.seq, last.link))
    else:
        db.execute("UPDATE heads SET seq = ?, link = ? WHERE key = ?", (last.seq, last.link, key))
    for target in built.erased:
        _erase_body(db, session_id, target)
    # An estimate is enough: it only decides when the next checkpoint is due.
    pages = 3 + sum([len(row.body or b"") // _SQLITE_PAGE_BYTES for row in rows])
    mark = HighWaterMark(position + len(rows), session_id, last.seq, last.link)
    return _StoredBatch(built.events, mark, pages, "redact" in [event.type for event in built.events])


def _erase_body(db: sqlite3.Connection, session_id: str, seq: int) -> None:
    """Remove an event's payload, and the snapshots that may hold what it said."""
    db.execute("UPDATE events SET body = NULL WHERE session_id = ? AND seq = ?", (session_id, seq))
    _erase_archived(db, session_id, seq)
    db.execute("DELETE FROM snapshots WHERE session_id = ? AND seq >= ?", (session_id, seq))


def append_dropped_rows(db: sqlite3.Connection, write_ahead_log: bytes, mark: HighWaterMark) -> int:
    """Append the rows of a write-ahead log that SQLite dropped, up to the mark; return how many they are.

    Each follows its session's chain. One that is not there leaves a hole, as if its row had been deleted: what
    follows is taken where the row behind it, or the mark, confirms its link.
    """
    from hudkit.log.stores.raw_pages import carved_rows

    rows_at: dict[int, list[EventRow]] = {}
    links = {(mark.session_id, mark.seq, mark.link)}  # those that are confirmed
    for position, row in carved_rows(b"", write_ahead_log):
        rows_at.setdefault(position, []).append(row)
    rows = [row for versions in rows_at.values() for row in versions]
    by_number = {(row.session_id, row.seq): row for row in rows}
    for row in rows:
        before = by_number.get((row.session_id, row.seq - 1))
        if before is not None and row_link(row, before.link) == row.link:
            links.add((before.session_id, before.seq, before.link))
    count = 0
    first = int(db.execute("SELECT coalesce(max(position), 0) + 1 FROM events").fetchone()[0])
    for position in range(first, mark.position + 1):
        # Of a row that was redacted later, there is an older version with its payload, too.
        versions = sorted(rows_at.get(position, ()), key=_has_body)
        following = next((row for row in versions if _follows(db, row, links)), None)
        if following is None:
            continue
        count += 1
        db.execute(_INSERT_EVENT, (position, *following))
        db.execute(
            "INSERT INTO heads (session_id, seq, link) VALUES (?, ?, ?)"
            " ON CONFLICT (session_id) DO UPDATE SET seq = excluded.seq, link = excluded.link",
            (following.session_id, following.seq, following.link),
        )
        target = redaction_target(following)
        if target is not None:
            _erase_body(db, following.session_id, target)
    return count


def _has_body(row: EventRow) -> bool:
    return row.body is not None


def _follows(db: sqlite3.Connection, row: EventRow, confirmed: Container[tuple[str, int, bytes]]) -> bool:
    """Whether a row is the next one of its session, or a later one whose link is confirmed."""
    try:
        _, _, head = _chain_end(db, check_id(row.session_id, "a session id"))
        is_next = row.seq == head.seq + 1
        decode_row(row, head.link if is_next else None)
    except StoreError:
        return False
    return is_next or (row.seq > head.seq and (row.session_id, row.seq, row.link) in confirmed)


def record_damage(db: sqlite3.Connection, finding: Finding) -> None:
    """Write a finding down for good; `verify` repeats it from then on."""
    db.execute(
        "INSERT OR IGNORE INTO damage (code, session_id, seq, message) VALUES (?, ?, ?, ?)",
        (finding.code, finding.session_id, finding.seq, finding.message),
    )


def _chain_end(db: sqlite3.Connection, session_id: str) -> tuple[int, int | None, ChainHead]:
    """The last global position, the key of the session's row in `heads`, and where the session's events end.

    The events are the truth. Where the head says otherwise, somebody changed the tables by hand: that is recorded,
    and the session goes on from the events that are left.
    """
    position, key, said_seq, said_link, seq, link = db.execute(_SELECT_CHAIN_END, (session_id,)).fetchone()
    if seq is None:
        seq, link = 0, GENESIS
    if type(seq) is not int or type(link) is not bytes:
        raise damage_error(Finding("chain", session_id, 0, "the last event cannot be read"))
    if (said_seq, said_link) != (seq, link) and (key is not None or seq):
        lost = type(said_seq) is int and said_seq > seq
        message = f"the session's events end at {seq}, its head says otherwise"
        record_damage(db, missing_event(session_id, seq + 1) if lost else Finding("chain", session_id, seq, message))
    return position or 0, key, ChainHead(seq, link)


def _type_at(db: sqlite3.Connection, session_id: str, seq: int) -> str | None:
    row = db.execute("SELECT type FROM events WHERE session_id = ? AND seq = ?", (session_id, seq)).fetchone()
    return None if row is None else str(row[0])


# -- reading ---------------------------------------------------------------------------------------------------------


_SELECT_EVENTS = f"SELECT {COLUMNS} FROM events WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
_FIRST_ROWS, _MOST_ROWS, _PAGE_BYTES = 64, 1024, 4_000_000

Fetch = Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]
"""All rows of a query with its arguments; runs under the log's lock, errors come typed."""


def read_events(
    fetch: Fetch, session_id: str, after: int, end: int, *, past_damage: bool = False, has_archive: bool = True
) -> Iterator[Event]:
    """Return the events with `after < seq <= end`, page by page, each verified before it is handed out.

    The rule: each body is checked against its digest and each envelope against the link stored with the event before;
    the first event of all against the start of the chain. What comes before `after` is not looked at (`verify` does).
    A missing body is archived (where the store has an archive), or needs a `redact` event that names it. Raises
    `StoreDamaged` at the first event that does not verify; the ones before it have been handed out.

    With `past_damage`, an `EventGap` is handed out in its place. What follows it is checked against the link that is
    stored with it, or else against the link that its fields should have: one of both is as it was, where a single
    value was damaged. Where the event is not there at all, only the body of the next one can be checked.
    """
    archived = ArchiveReader(fetch).body if has_archive else _no_archive
    if not past_damage:
        yield from _verified_events(fetch, session_id, after, end, None, archived)
        return
    last_read = after
    before: bytes | None = None
    while last_read < end:
        links = _links_at(fetch, session_id, last_read, before)
        before = None
        try:
            for event in _verified_events(fetch, session_id, last_read, end, links, archived):
                yield event
                last_read = event.seq
            return
        except StoreDamaged as error:
            # The link before the damaged event, from which its own can be computed.
            before = next((link for link in _links_at(fetch, session_id, last_read, None) if link is not None), None)
            last_read += 1
            yield _gap_event(fetch, session_id, last_read, before, error)


def _gap_event(fetch: Fetch, session_id: str, seq: int, before: bytes | None, error: StoreDamaged) -> Event:
    """What stands for a damaged event; its type is named where the envelope verifies."""
    finding = error.details.get("finding")
    code, message = (finding.code, finding.message) if isinstance(finding, Finding) else ("file", error.message)
    rows = _row_at(fetch, session_id, seq)
    certain = bool(rows) and before is not None and row_link(rows[0], before) == rows[0].link
    gap = EventGap(code, message, was=rows[0].type if certain else "", damaged=True)
    return Event("", seq, session_id, 0, 0, type_of(gap), gap.V, Origin.SYSTEM, gap)


def _row_at(fetch: Fetch, session_id: str, seq: int) -> list[EventRow]:
    """The row of an event, as it is; none where it is missing or cannot be read."""
    try:
        return [EventRow(*values) for values in fetch(_SELECT_EVENTS, (session_id, seq - 1, seq, 1))]
    except StoreDamaged:
        return []


def _links_at(fetch: Fetch, session_id: str, seq: int, before: bytes | None) -> tuple[bytes | None, ...]:
    """Return the links that the event behind event `seq` may rest on: the stored one, and where the one before it is
    given, the one that its fields ask for; `None` where nobody knows."""
    if seq == 0:
        return (GENESIS,)
    rows = _row_at(fetch, session_id, seq)
    links = [row.link for row in rows if type(row.link) is bytes]
    if before is not None:
        links += [link for row in rows if (link := row_link(row, before)) is not None]
    return tuple(dict.fromkeys(links)) or (None,)


def _no_archive(session_id: str, seq: int) -> bytes | None:  # noqa: ARG001 (in the place of a reader)
    return None


def _verified_events(
    fetch: Fetch,
    session_id: str,
    after: int,
    end: int,
    links: Sequence[bytes | None] | None,
    archived: Callable[[str, int], bytes | None],
) -> Iterator[Event]:
    """Read events in pages; `links` are what the first may rest on (`None`: the link stored with the one before), and
    `archived` gives the body of an event that is not in its row."""
    last_read, limit = after, _FIRST_ROWS
    if links is None:
        links = (_link_at(fetch, session_id, last_read) if after < end else GENESIS,)
    redacted: frozenset[int] | None = None
    while last_read < end:
        try:
            page = fetch(_SELECT_EVENTS, (session_id, last_read, end, limit))
        except StoreDamaged:
            if limit == 1:
                raise
            limit = 1  # hand out what can be read of this page
            continue
        size = 0
        for values in page:
            row = EventRow(*values)
            if row.seq != last_read + 1:
                raise damage_error(missing_event(session_id, last_read + 1))
            if row.body is None:
                row = row._replace(body=archived(session_id, row.seq))
            if row.body is None:
                redacted = _redacted_seqs(fetch, session_id) if redacted is None else redacted
                if row.seq not in redacted:
                    row = row._replace(body=_unarchived_body(fetch, session_id, row.seq))
                if row.body is None and row.seq not in redacted:
                    # It may have been redacted since.
                    redacted = _redacted_seqs(fetch, session_id)
                if row.body is None and row.seq not in redacted:
                    raise damage_error(
                        Finding("payload", session_id, row.seq, f"event {row.seq}: {FINDING_MESSAGES['payload']}")
                    )
            yield _decode_behind(row, links)
            last_read, links = row.seq, (row.link,)
            size += len(row.body or b"")
        if not page:
            raise damage_error(missing_event(session_id, last_read + 1))
        # Pages of about `_PAGE_BYTES`, by the sizes seen so far: few queries for small events, little memory for big
        # ones.
        if limit > 1:
            limit = max(2, min(_MOST_ROWS, _PAGE_BYTES * len(page) // (size + 1)))


def _decode_behind(row: EventRow, links: Sequence[bytes | None]) -> Event:
    """Return the event of a row that rests on one of these links. Raises `StoreDamaged` as for the first of them."""
    for link in links[1:]:
        with suppress(StoreDamaged):
            return decode_row(row, link)
    return decode_row(row, links[0])


def _link_at(fetch: Fetch, session_id: str, seq: int) -> bytes:
    if seq == 0:
        return GENESIS
    query = "SELECT link FROM events WHERE session_id = ? AND seq = ?"
    rows = fetch(query, (session_id, seq))
    if not rows:
        raise damage_error(missing_event(session_id, seq))
    link = rows[0][0]
    if type(link) is not bytes:
        raise damage_error(Finding("chain", session_id, seq, f"event {seq}: {FINDING_MESSAGES['chain']}"))
    return link


def _unarchived_body(fetch: Fetch, session_id: str, seq: int) -> bytes | None:
    """The body of an event that was taken out of the archive since its row was read."""
    rows = fetch("SELECT body FROM events WHERE session_id = ? AND seq = ?", (session_id, seq))
    return rows[0][0] if rows and type(rows[0][0]) is bytes else None


def _redacted_seqs(fetch: Fetch, session_id: str) -> frozenset[int]:
    query = f"SELECT {COLUMNS} FROM events WHERE session_id = ? AND type = 'redact'"
    rows = [EventRow(*values) for values in fetch(query, (session_id,))]
    sound = (row for row in rows if type(row.body) is bytes and payload_digest(row.body) == row.digest)
    return frozenset(target for row in sound if (target := redaction_target(row)) is not None)


# -- snapshots -------------------------------------------------------------------------------------------------------


SNAPSHOTS_KEPT = 3
"""Snapshots kept of one session and version; the newest win."""


def check_snapshot(snapshot: Snapshot, *, last: int | None = None) -> None:
    """Raise `StoreError` where a snapshot cannot be kept; `last` is its session's last sequence number."""
    if type(snapshot.body) is not bytes or type(snapshot.seq) is not int or type(snapshot.version) is not str:
        raise StoreError("a snapshot has a field of the wrong type", hint="seq is int, version is str, body is bytes")
    if snapshot.seq < 1 or (last is not None and snapshot.seq > last):
        raise StoreError(
            f"a snapshot of session {snapshot.session_id!a} as of event {snapshot.seq}, which it does not have",
            hint="Save a projection as of an event that is stored",
        )
    try:
        snapshot.version.encode()
    except UnicodeEncodeError as error:
        raise StoreError("a snapshot's version is not UTF-8 text", hint="Use plain text") from error


def snapshot_digest(snapshot: Snapshot, link: bytes) -> bytes:
    """Return 32 bytes over a snapshot and the chain up to its event.

    After a lost or edited tail it no longer fits: a snapshot never outlives the events that it was folded from.
    """
    head = f"{snapshot.session_id}\0{snapshot.seq}\0{snapshot.version}\0".encode()
    return blake2b(link + head + snapshot.body, digest_size=32).digest()


def put_snapshot(db: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Keep a snapshot in the tables. Raises `StoreError` where its session has no such event.

    One from before a redaction is not kept: its writer may not have known of it.
    """
    about = (snapshot.session_id, snapshot.version)
    query = "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?"
    last = db.execute(query, about[:1]).fetchone()[0]
    check_snapshot(snapshot, last=last)
    query = "SELECT 1 FROM events WHERE session_id = ? AND seq > ? AND type = 'redact' LIMIT 1"
    if db.execute(query, (about[0], snapshot.seq)).fetchone() is not None:
        return
    link = db.execute("SELECT link FROM events WHERE session_id = ? AND seq = ?", (about[0], snapshot.seq)).fetchone()
    if link is None or type(link[0]) is not bytes:
        raise damage_error(missing_event(snapshot.session_id, snapshot.seq))
    guard = snapshot_digest(snapshot, link[0])
    db.execute("DELETE FROM snapshots WHERE session_id = ? AND version = ? AND seq > ?", (*about, last))
    db.execute(
        "INSERT OR REPLACE INTO snapshots (session_id, version, seq, body, digest) VALUES (?, ?, ?, ?, ?)",
        (*about, snapshot.seq, snapshot.body, guard),
    )
    db.execute(
        "DELETE FROM snapshots WHERE session_id = ?1 AND version = ?2 AND key NOT IN"
        " (SELECT key FROM snapshots WHERE session_id = ?1 AND version = ?2 ORDER BY seq DESC LIMIT ?3)",
        (*about, SNAPSHOTS_KEPT),
    )


def get_snapshot(db: sqlite3.Connection, session_id: str, version: str, upto: int) -> Snapshot | None:
    """Return the newest snapshot with `seq <= upto` whose digest verifies; a damaged one is passed over."""
    rows = db.execute(
        "SELECT s.seq, s.body, s.digest, e.link FROM snapshots s"
        " JOIN events e ON e.session_id = s.session_id AND e.seq = s.seq"
        " WHERE s.session_id = ? AND s.version = ? AND s.seq <= ? ORDER BY s.seq DESC",
        (session_id, version, upto),
    ).fetchall()
    for seq, body, guard, link in rows:
        if type(seq) is int and type(body) is bytes and type(link) is bytes:
            snapshot = Snapshot(session_id, seq, version, body)
            if snapshot_digest(snapshot, link) == guard:
                return snapshot
    return None
