"""The log on a PostgreSQL server: for many machines, with the same rules as every store.

**Appending.** The link of an event is computed here from the link before it, so a writer has to know where a
session's chain ends. It remembers that from its last append, and one statement does the rest:

    move the session's head from (seq 7, link a) to (seq 9, link c), if it is still there; if so, insert 8 and 9

Where another writer came first, nothing was moved, and the slow way is taken: the head is locked, compared with the
events, and the rows are made anew behind it. Redactions and groups of batches go the slow way at once.

**A lost connection.** A commit whose answer was lost has happened or not. The rows that were sent are remembered, and
before they are sent again it is looked up, with the head locked, whether the last of them is stored: its link is a
digest of all before it, so no other writer's event can be taken for it. So each batch is appended once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import RLock
from typing import Any

import psycopg
from psycopg.rows import TupleRow

from hudkit.errors import StoreBusy, StoreDenied, StoreError, StoreReadOnly, StoreUnreachable
from hudkit.log import Batch, Event, Finding, SessionHead, Snapshot
from hudkit.log.codec import GENESIS, is_id
from hudkit.log.payloads import Redact
from hudkit.log.stores.hash_chain import (
    ChainHead,
    ChainScan,
    EventRow,
    check_id,
    damage_error,
    missing_event,
    prepare_batch,
)
from hudkit.log.stores.log_tables import (
    COLUMNS,
    SNAPSHOTS_KEPT,
    BatchAppends,
    check_snapshot,
    read_events,
    snapshot_digest,
)
from hudkit.log.stores.postgres_server import PostgresServer, parse_address, translate_refusal
from hudkit.log.stores.postgres_tables import altered_tables, prepare_tables

_LAST = 2**63 - 1
_MOST_HEADS = 10_000
"""Ends of chains that are remembered; who writes more sessions reads them anew."""

_SCAN_ROWS = 2000

_AppendAnswer = tuple[Event, ...] | StoreError

_ARRAYS = ", ".join(
    f"%s::{kind}[]"
    for kind in ("text", "bigint", "text", "bigint", "bigint", "text", "bigint", "text", "bytea", "bytea", "bytea")
)
_INSERT = f"INSERT INTO events ({COLUMNS}) SELECT r.* FROM unnest({_ARRAYS}) AS r"
_MOVE_HEAD = "UPDATE heads SET seq = %s, link = %s, appended = nextval('appends') WHERE session_id = %s"
_MOVED = f"WITH moved AS ({_MOVE_HEAD} AND seq = %s AND link = %s RETURNING 1)"
_APPEND = f"{_MOVED} {_INSERT} WHERE EXISTS (SELECT FROM moved)"
_LOCK_HEADS = "SELECT session_id, seq, link FROM heads WHERE session_id = ANY(%s) ORDER BY session_id FOR UPDATE"
_SELECT_ENDS = """
    SELECT s.id, e.seq, e.link FROM unnest(%s::text[]) AS s (id)
    CROSS JOIN LATERAL (SELECT seq, link FROM events WHERE session_id = s.id ORDER BY seq DESC LIMIT 1) e
"""
_SELECT_HEADS = (
    "SELECT e.session_id, e.seq, e.timestamp FROM heads h"
    " JOIN events e ON e.session_id = h.session_id AND e.seq = h.seq ORDER BY h.appended"
)


class PostgresLog(BatchAppends):
    """An `EventLog` on a server. Several threads may use one, and any number of processes and machines the same log.

    A call returns when its events are on the server's disk.
    """

    _refusals_of_all = (StoreBusy, StoreDenied, StoreReadOnly, StoreUnreachable)

    def __init__(self, server: PostgresServer, read_only: bool) -> None:
        """Use `open`."""
        self._server = server
        self._read_only = read_only
        self._lock = RLock()
        self._closed = False
        self._heads: dict[str, ChainHead] = {}

    @property
    def label(self) -> str:
        """Return where the log is, without password: what may be shown."""
        return self._server.address.label

    @classmethod
    def open(cls, url: str, *, read_only: bool = False, busy_timeout: float = 5.0) -> PostgresLog:
        """Return the log at a URL, open; unless `read_only`, its tables are made where there are none.

        `busy_timeout` is how many seconds locks are waited for, and a server that is away. Raises `StoreUnreachable`,
        `StoreDenied`, `StoreMissing` (no such database, or no log to read), `StoreTooNew`, `StoreReadOnly`,
        `StoreDamaged` (the tables are another program's, or were altered), `StoreBusy`; a URL that cannot be read is
        a `StoreError`.
        """
        server = PostgresServer(parse_address(url), read_only=read_only, timeout=busy_timeout)
        try:
            prepare_tables(server, read_only=read_only)
        except BaseException:
            server.close()
            raise
        return cls(server, read_only)

    # -- appending -----------------------------------------------------------------------------------------------

    def notify(self, session_id: str) -> None:
        """Tell whoever listens (`LISTEN` on the name of the schema) that there is something new in a session."""
        with self._lock:
            self._check_open()
            channel = self._server.address.schema
            self._server.run(lambda db: db.execute("SELECT pg_notify(%s, %s)", (channel, session_id)))

    def _commit(self, batches: Sequence[Batch], *, together: bool) -> list[_AppendAnswer]:
        commit = _Commit(batches, together=together)
        with self._lock:
            self._check_open()
            try:
                return self._server.run(lambda db: self._attempt(db, commit))
            except BaseException:
                # What was interrupted may have been committed: nothing that is remembered is certain.
                self._heads.clear()
                raise

    def _attempt(self, db: psycopg.Connection, commit: _Commit) -> list[_AppendAnswer]:
        answer = None if commit.last_sent is not None else self._append_behind(db, commit)
        return [answer] if answer is not None else self._append_locked(db, commit)

    def _append_behind(self, db: psycopg.Connection, commit: _Commit) -> _AppendAnswer | None:
        """Append a lone batch behind the end that is remembered; return `None` where it takes the slow way."""
        if len(commit.batches) != 1:
            return None
        (batch,) = commit.batches
        head = self._heads.get(batch.session_id)
        redacts = any(isinstance(draft.payload, Redact) for draft in batch.drafts)
        if head is None or redacts or not batch.drafts or batch.expected not in (None, head.seq):
            return None
        try:
            prepared = prepare_batch(batch, head, lambda _: None)
        except StoreError:
            return None  # the slow way says it with the numbers of now
        last = prepared.rows[-1]
        commit.sending([prepared.events], last)
        moved = (last.seq, last.link, batch.session_id, head.seq, head.link)
        if not db.execute(_APPEND, (*moved, *_insert_arguments(prepared.rows)), prepare=True).rowcount:
            commit.last_sent = None
            return None
        self._remember(batch.session_id, ChainHead(last.seq, last.link))
        return prepared.events

    def _append_locked(self, db: psycopg.Connection, commit: _Commit) -> list[_AppendAnswer]:
        """Append batches behind the ends that the log has, with these locked, in one transaction."""
        answers: list[_AppendAnswer] = []
        rows: list[EventRow] = []
        moved: dict[str, ChainHead] = {}
        erased: list[tuple[str, int]] = []
        with _transaction(db):
            sessions = sorted({batch.session_id for batch in commit.batches if is_id(batch.session_id)})
            heads, new = _locked_heads(db, sessions)
            if commit.last_sent is not None and _is_stored(db, commit.last_sent):
                return commit.answers
            for batch in commit.batches:
                session_id = batch.session_id
                try:
                    head = moved.get(session_id) or heads.get(session_id) or ChainHead(0, GENESIS)
                    prepared = prepare_batch(batch, head, partial(_type_at, db, rows, session_id))
                except StoreError as error:
                    if commit.together:
                        raise
                    answers.append(error)
                    continue
                answers.append(prepared.events)
                if prepared.rows:
                    rows += prepared.rows
                    moved.pop(session_id, None)  # the one that was appended to last comes last
                    moved[session_id] = ChainHead(prepared.rows[-1].seq, prepared.rows[-1].link)
                    erased += [(session_id, target) for target in prepared.erased]
            if rows:
                _insert_rows(db, rows, [(id_, id_ in heads) for id_ in new], moved)
                for session_id, target in erased:
                    _erase_body(db, session_id, target)
                commit.sending(answers, rows[-1])
        for session_id, head in moved.items():
            self._remember(session_id, head)
        return answers

    def _remember(self, session_id: str, head: ChainHead) -> None:
        if len(self._heads) >= _MOST_HEADS:
            self._heads.clear()
        self._heads[session_id] = head

    # -- reading -------------------------------------------------------------------------------------------------

    def read(
        self, session_id: str, *, after: int = 0, upto: int | None = None, past_damage: bool = False
    ) -> Iterator[Event]:
        """Return the events with `after < seq <= upto` that are there when this is called; see `EventLog.read`."""
        end = 0
        if is_id(session_id):
            last, from_head = self._ends(session_id)
            # A tail that is gone is damage, too; who goes past it ends where appending goes on.
            end = last if past_damage else max(last, from_head)
        self._check_open()
        end = end if upto is None else min(upto, end)
        return read_events(self._fetch, session_id, max(0, after), end, past_damage=past_damage, has_archive=False)

    def last_seq(self, session_id: str) -> int:
        """Return the session's last sequence number, 0 for an unknown session."""
        return self._ends(session_id)[0] if is_id(session_id) else 0

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events with `seq <= upto`, in order; see `EventLog.event_ids`."""
        sql = "SELECT id FROM events WHERE session_id = ? AND seq <= ? ORDER BY seq"
        return [row[0] for row in self._of_session(session_id, sql, _int64(upto))]

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types; see `EventLog.last_seq_of`."""
        sql = "SELECT seq FROM events WHERE session_id = ? AND seq <= ? AND type = ANY(?) ORDER BY seq DESC LIMIT 1"
        rows = self._of_session(session_id, sql, _int64(upto), list(types))
        return int(rows[0][0]) if rows else 0

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions with at least one event, in order of their first event."""
        return tuple(str(row[0]) for row in self._fetch("SELECT session_id FROM heads ORDER BY key", ()))

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last event of every session; see `EventLog.heads`."""
        return tuple(SessionHead(str(row[0]), int(row[1]), int(row[2])) for row in self._fetch(_SELECT_HEADS, ()))

    # -- snapshots -----------------------------------------------------------------------------------------------

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a saved projection; the newest three of a session and version are kept.

        Raises `StoreError` where the session has no event `snapshot.seq`.
        """
        check_snapshot(snapshot)
        check_id(snapshot.session_id, "a session id")
        with self._lock:
            self._check_open()
            self._server.run(lambda db: _put_snapshot(db, snapshot))

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of this version with `seq <= upto`; one that does not verify is passed over."""
        try:
            key = version.encode()
        except UnicodeEncodeError:
            return None
        sql = (
            "SELECT s.seq, s.body, s.digest, e.link FROM snapshots s"
            " JOIN events e ON e.session_id = s.session_id AND e.seq = s.seq"
            " WHERE s.session_id = ? AND s.seq <= ? AND s.version = ? ORDER BY s.seq DESC"
        )
        for seq, body, guard, link in self._of_session(session_id, sql, _LAST if upto is None else _int64(upto), key):
            snapshot = Snapshot(session_id, seq, version, body)
            if snapshot_digest(snapshot, link) == guard:
                return snapshot
        return None

    # -- verification --------------------------------------------------------------------------------------------

    def verify(self) -> Iterator[Finding]:
        """Return the first bad event of each session, and what is wrong with the medium; reads all of it first.

        Reads on a connection of its own, as of one moment, and holds up no writer.
        """
        with self._lock:
            self._check_open()
            db = self._server.another()
        address = self._server.address
        try:
            with db, db.transaction():
                db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                altered = altered_tables(db, address)
                findings = [] if altered is None else [altered]
                findings += _scan(db)
                findings += _recorded(db)
        except psycopg.Error as error:
            refusal = translate_refusal(error, address)
            finding = refusal.details.get("finding")
            if not isinstance(finding, Finding):
                raise refusal from error
            findings = [finding]
        return iter(dict.fromkeys(findings))

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return what was found wrong when the log was written; see `EventLog.recorded_findings`."""
        with self._lock:
            self._check_open()
            return tuple(self._server.run(_recorded))

    def close(self) -> None:
        """Close; closing twice is harmless."""
        with self._lock:
            self._closed = True
            self._server.close()

    def __enter__(self) -> PostgresLog:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    # -- the connection ------------------------------------------------------------------------------------------

    def _ends(self, session_id: str) -> tuple[int, int]:
        """Return the session's last number by its events and by its head."""
        sql = (
            "SELECT coalesce((SELECT max(seq) FROM events WHERE session_id = ?), 0),"
            " coalesce((SELECT seq FROM heads WHERE session_id = ?), 0)"
        )
        last, from_head = self._fetch(sql, (session_id, session_id))[0]
        return int(last), int(from_head)

    def _of_session(self, session_id: str, sql: str, *args: Any) -> list[TupleRow]:
        """Return the rows of a query on a session; none for what cannot be the id of one."""
        if is_id(session_id):
            return self._fetch(sql, (session_id, *args))
        self._check_open()
        return []

    def _fetch(self, sql: str, args: Sequence[Any]) -> list[TupleRow]:
        """Return all rows of a query, whose arguments are marked with `?` as everywhere in our stores."""
        with self._lock:
            self._check_open()
            query = sql.replace("?", "%s")
            return self._server.run(lambda db: db.execute(query, args, prepare=True, binary=True).fetchall())

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the log is closed", hint="Open it again")


class _Commit:
    """Batches that are to be appended together, and what the last attempt sent: its answers and its last row."""

    def __init__(self, batches: Sequence[Batch], *, together: bool) -> None:
        """`together`: all are appended or none."""
        self.batches = batches
        self.together = together
        self.answers: list[_AppendAnswer] = []
        self.last_sent: EventRow | None = None

    def sending(self, answers: Sequence[_AppendAnswer], last: EventRow) -> None:
        """Remember what is being sent: its connection may be lost before the answer comes."""
        self.answers, self.last_sent = list(answers), last


@contextmanager
def _transaction(db: psycopg.Connection) -> Iterator[None]:
    """Run a block in a transaction; leave none open, whatever happens."""
    db.execute("BEGIN")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        with suppress(psycopg.Error):  # a lost connection rolls back by itself
            db.execute("ROLLBACK")
        raise


def _int64(number: int) -> int:
    return max(-1, min(number, _LAST))


def _insert_arguments(rows: Sequence[EventRow]) -> list[list[Any]]:
    """Return the arguments of `_INSERT`: a list for each column."""
    return [list(column) for column in zip(*rows, strict=True)]


def _insert_rows(
    db: psycopg.Connection, rows: Sequence[EventRow], new: Sequence[tuple[str, bool]], moved: Mapping[str, ChainHead]
) -> None:
    """Insert rows and move the heads of their sessions; `new` are those that have no head, each with whether it has
    events."""
    db.execute(_INSERT, _insert_arguments(rows))
    had_events = dict(new)
    for session_id in dict.fromkeys(row.session_id for row in rows):
        if session_id in had_events:
            _insert_head(db, session_id, moved[session_id], had_events=had_events[session_id])
    # In this order: the last one is at the end of `heads`.
    db.cursor().executemany(_MOVE_HEAD, [(head.seq, head.link, session_id) for session_id, head in moved.items()])


def _locked_heads(db: psycopg.Connection, sessions: Sequence[str]) -> tuple[dict[str, ChainHead], set[str]]:
    """Lock the heads of sessions; return where their events end, and those of them that have no head.

    Locked in the order of their names, so that two writers never wait for each other. The events are the truth: where
    a head says otherwise, somebody changed the tables by hand, which is recorded.
    """
    by_head = {row[0]: ChainHead(row[1], row[2]) for row in db.execute(_LOCK_HEADS, (list(sessions),))}
    # A statement of its own: only one that begins behind the lock sees what its last holder wrote.
    ends = {row[0]: ChainHead(row[1], row[2]) for row in db.execute(_SELECT_ENDS, (list(sessions),))}
    for session_id in sessions:
        head, end = by_head.get(session_id), ends.get(session_id, ChainHead(0, GENESIS))
        if (head or ChainHead(0, GENESIS)) != end:
            lost = head is not None and head.seq > end.seq
            message = f"the session's events end at {end.seq}, its head says otherwise"
            _record_damage(
                db, missing_event(session_id, end.seq + 1) if lost else Finding("chain", session_id, end.seq, message)
            )
    return ends, set(sessions) - by_head.keys()


def _insert_head(db: psycopg.Connection, session_id: str, head: ChainHead, *, had_events: bool) -> None:
    """Insert the head of a new session, under the next number: `UniqueViolation` where another writer just did.

    One that had events before had a head, too, which somebody deleted: it takes the number that is free.
    """
    if had_events:
        number = (
            "SELECT n AS sessions FROM counters, generate_series(1, sessions) AS n"
            " WHERE NOT EXISTS (SELECT FROM heads WHERE key = n) LIMIT 1"
        )
    else:
        number = "UPDATE counters SET sessions = sessions + 1 RETURNING sessions"
    db.execute(
        f"WITH counted AS ({number}) INSERT INTO heads (key, session_id, seq, link, appended)"
        " SELECT sessions, %s, %s, %s, nextval('appends') FROM counted",
        (session_id, head.seq, head.link),
    )


def _is_stored(db: psycopg.Connection, row: EventRow) -> bool:
    sql = "SELECT 1 FROM events WHERE session_id = %s AND seq = %s AND link = %s"
    return db.execute(sql, (row.session_id, row.seq, row.link)).fetchone() is not None


def _type_at(db: psycopg.Connection, rows: Sequence[EventRow], session_id: str, seq: int) -> str | None:
    """Return the type of an event; `rows` are about to be inserted."""
    for row in rows:
        if (row.session_id, row.seq) == (session_id, seq):
            return row.type
    sql = "SELECT type FROM events WHERE session_id = %s AND seq = %s"
    stored = db.execute(sql, (session_id, _int64(seq))).fetchone()
    return None if stored is None else str(stored[0])


def _erase_body(db: psycopg.Connection, session_id: str, seq: int) -> None:
    """Remove an event's payload, and the snapshots that may hold what it said."""
    db.execute("UPDATE events SET body = NULL WHERE session_id = %s AND seq = %s", (session_id, seq))
    db.execute("DELETE FROM snapshots WHERE session_id = %s AND seq >= %s", (session_id, seq))


def _put_snapshot(db: psycopg.Connection, snapshot: Snapshot) -> None:
    """Keep a snapshot; one from before a redaction is not kept: its writer may not have known of it."""
    session_id, seq, version = snapshot.session_id, snapshot.seq, snapshot.version.encode()
    with _transaction(db):
        # Against a redaction that comes meanwhile.
        db.execute(_LOCK_HEADS, ([session_id],))
        last, redacted = db.execute(
            "SELECT coalesce(max(seq), 0), coalesce(max(seq) FILTER (WHERE type = 'redact'), 0)"
            " FROM events WHERE session_id = %s AND seq >= %s",
            (session_id, _int64(seq)),
        ).fetchone() or (0, 0)
        check_snapshot(snapshot, last=last or _last_of(db, session_id))
        if redacted > seq:
            return
        sql = "SELECT link FROM events WHERE session_id = %s AND seq = %s"
        link = db.execute(sql, (session_id, seq)).fetchone()
        if link is None:
            raise damage_error(missing_event(session_id, seq))
        about = (session_id, version)
        db.execute("DELETE FROM snapshots WHERE session_id = %s AND version = %s AND seq > %s", (*about, last))
        db.execute(
            "INSERT INTO snapshots (session_id, version, seq, body, digest) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (session_id, version, seq) DO UPDATE SET body = excluded.body, digest = excluded.digest",
            (*about, seq, snapshot.body, snapshot_digest(snapshot, link[0])),
        )
        db.execute(
            "DELETE FROM snapshots WHERE session_id = %s AND version = %s AND seq NOT IN"
            " (SELECT seq FROM snapshots WHERE session_id = %s AND version = %s ORDER BY seq DESC LIMIT %s)",
            (*about, *about, SNAPSHOTS_KEPT),
        )


def _last_of(db: psycopg.Connection, session_id: str) -> int:
    row = db.execute("SELECT coalesce(max(seq), 0) FROM events WHERE session_id = %s", (session_id,)).fetchone()
    return int(row[0]) if row else 0


def _record_damage(db: psycopg.Connection, finding: Finding) -> None:
    """Write a finding down for good; `verify` repeats it from then on."""
    db.execute(
        "INSERT INTO damage (code, session_id, seq, message) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (finding.code, finding.session_id, finding.seq, finding.message),
    )


def _recorded(db: psycopg.Connection) -> list[Finding]:
    return [Finding(*row) for row in db.execute("SELECT code, session_id, seq, message FROM damage ORDER BY key")]


def _scan(db: psycopg.Connection) -> list[Finding]:
    """Return what is wrong with the events: the first bad one of each session, and sessions that are gone."""
    scan = ChainScan()
    with db.cursor(name="scan", binary=True) as events:
        events.itersize = _SCAN_ROWS
        events.execute(f"SELECT {COLUMNS} FROM events ORDER BY session_id, seq")
        for position, values in enumerate(events, 1):
            scan.take(position, EventRow(*values))
    without_head = set(scan.sessions())
    keys: list[int] = []
    for key, session_id, seq, link in db.execute("SELECT key, session_id, seq, link FROM heads ORDER BY key"):
        scan.expect(session_id, ChainHead(seq, link))
        without_head.discard(session_id)
        keys.append(key)
    findings = scan.findings()
    bad = {finding.session_id for finding in findings}
    findings += [
        Finding("chain", id_, 1, f"session {id_!a} has events but no head") for id_ in sorted(without_head - bad)
    ]
    row = db.execute("SELECT sum(sessions)::bigint FROM counters").fetchone()
    count = row[0] if row and row[0] is not None else 0
    gone = sorted(set(range(1, count + 1)).difference(keys))
    if gone and not without_head:
        findings.append(Finding("gap", "", gone[0], f"session number {gone[0]}: it is missing, with all its events"))
    return findings
