"""What was said in hosts that keep no transcript which could be read: frameworks within a program, in a file of ours.

A framework hands its whole conversation over with each call, and forgets what a compaction took from it. So each
message is written here once, before the call that could drop it: secrets in known forms replaced, oldest sessions let
go beyond `MAX_CONVERSATION_BYTES`. What stands in a request as one line, the host still holds; those messages are
held here in memory too, as they are, so that the line's promise does not depend on the file.

    call 7 has     u1 a1 u2 a2          written: u1 a1 u2 a2
    a compaction   summary of u1 a1     written: u1 a1 u2 a2 [marker, tail from u2] [summary]
    call 8 has     summary u2 a2 u3     written: ... u3

The marker is made here: it says what the summary covers, as the transcripts of other hosts do.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from hudkit.errors import StoreError, StoreReadOnly, TranscriptError
from hudkit.log.codec import escape_surrogates
from hudkit.log.redaction import SecretText, remove_from_json
from hudkit.log.secret_patterns import replace_secrets
from hudkit.log.stores.migrations import Schema, check_current, migrate
from hudkit.log.stores.sqlite_files import (
    check_private_path,
    connect_reader,
    connect_writer,
    create_private_file,
    store_errors,
)
from hudkit.transcripts.transcript import CompactionPart, Message, SessionRow, Todo, UnreadableRecord

HOST = "in-process"
"""What the store is called where it is opened for no host of its own."""

MAX_CONVERSATION_BYTES = 256 * 1024 * 1024
"""Bytes of all messages in one file. Beyond, whole sessions go, the one that was silent longest first; then the
oldest messages of the session that is being written."""

_APPLICATION_ID = 0x48554443
"""`PRAGMA application_id` of every file of conversations (the letters HUDC)."""

_SCHEMA = Schema(
    _APPLICATION_ID,
    (
        (
            f"PRAGMA application_id = {_APPLICATION_ID}",
            """CREATE TABLE sessions (
                key INTEGER PRIMARY KEY,
                host TEXT NOT NULL,
                directory TEXT NOT NULL,
                id TEXT NOT NULL,
                updated INTEGER NOT NULL,
                bytes INTEGER NOT NULL DEFAULT 0,
                body BLOB NOT NULL,
                UNIQUE (host, directory, id)
            )""",
            """CREATE TABLE messages (
                position INTEGER PRIMARY KEY AUTOINCREMENT,
                session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
                id TEXT NOT NULL,
                closed INTEGER NOT NULL,
                size INTEGER NOT NULL,
                body BLOB NOT NULL,
                UNIQUE (session, id)
            )""",
            "CREATE INDEX messages_in_order ON messages (session, position, size)",
        ),
    ),
    "holds no conversations of hudkit",
    "Name another file",
    keeps_copy=False,
)

_Record = TypeVar("_Record", Message, SessionRow)

_PAGE = 100  # messages of one read
_MAX_SKIPPED = 1_000


class ConversationStore:
    """The `Transcript` of conversations that are recorded here, in a file or in memory. Safe for several threads, and
    a file for several processes."""

    def __init__(
        self,
        path: Path | None,
        *,
        host: str = "",
        directory: str = "",
        read_only: bool = False,
        max_bytes: int = MAX_CONVERSATION_BYTES,
        busy_timeout: float = 5.0,
    ) -> None:
        """Take what is needed; the file at `path` is made with the first message. `None`: kept in memory alone.

        Of sessions with the same id, the one of this `host` and `directory` is meant, else the newest. `busy_timeout`
        is how many seconds a call waits for another process.
        """
        self.path = path.absolute() if path is not None else None
        self._host = host
        self._directory = directory
        self._read_only = read_only
        self._max_bytes = max_bytes
        self._timeout = busy_timeout
        self._db: sqlite3.Connection | None = None
        self._lock = threading.RLock()
        # Of its own: a call that holds messages must not wait for the disk that another one's are written to.
        self._held_lock = threading.Lock()
        self._held: dict[str, tuple[SessionRow, tuple[Message, ...]]] = {}
        self._skipped: dict[str, UnreadableRecord] = {}

    @property
    def host(self) -> str:
        """Return the host that this was opened for."""
        return self._host or HOST

    @property
    def skipped(self) -> tuple[UnreadableRecord, ...]:
        """Return the messages and sessions that could not be read so far."""
        return tuple(self._skipped.values())

    # -- writing -----------------------------------------------------------------------------------------------

    def record(
        self, row: SessionRow, window: Sequence[Message], new: Collection[str], closed: Collection[str]
    ) -> None:
        """Write those messages of a session's `window` (what its next call has, in order) whose ids are `new`.

        Those that are `closed` will not change any more: they are written once. Durable when this returns; raises a
        `StoreError` where it is not.
        """
        fresh = [message for message in window if message.id in new]
        if not fresh:
            return
        with self._writing() as db:
            key = self._put_session(db, row)
            rows = db.execute("SELECT id FROM messages WHERE session = ? AND closed", (key,))
            final = {id for (id,) in rows}
            for message in fresh:
                if message.id in final:
                    continue
                if message.summary and not message.parent_id:
                    marker = _marker(message, _tail_start(db, key, {other.id for other in window}))
                    _put_message(db, key, marker, closed=True)
                    message = replace(message, parent_id=marker.id)
                _put_message(db, key, message, closed=message.id in closed)
            db.execute(
                "UPDATE sessions SET bytes = (SELECT total(size) FROM messages WHERE session = key) WHERE key = ?",
                (key,),
            )
            self._make_room(db, key)

    def hold(self, row: SessionRow, messages: Sequence[Message]) -> None:
        """Remember messages of a session as they are, in place of those of the time before: stubs stand for outputs
        of them."""
        with self._held_lock:
            self._held.pop(row.id, None)
            if messages:
                self._held[row.id] = (row, tuple(messages))

    def release(self, session_id: str) -> None:
        """Hold nothing of a session any more; what is written stays."""
        with self._held_lock:
            self._held.pop(session_id, None)

    def redact(self, wanted: Sequence[SecretText]) -> int:
        """Take texts out of the file, physically; return how many messages and sessions held one.

        Raises a `StoreError`, and nothing is changed then.
        """
        count = 0
        with self._writing() as db:
            for table, id in (("messages", "position"), ("sessions", "key")):
                for (row,) in db.execute(f"SELECT {id} FROM {table}").fetchall():
                    (body,) = db.execute(f"SELECT body FROM {table} WHERE {id} = ?", (row,)).fetchone()
                    clean = remove_from_json(body, wanted)
                    if clean is not body:
                        db.execute(f"UPDATE {table} SET body = ? WHERE {id} = ?", (clean, row))
                        count += 1
        with self._lock, store_errors(self.path or Path(":memory:")):
            file = self._connected(write=True)
            assert file is not None
            file.execute("VACUUM")
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return count

    # -- the transcript ----------------------------------------------------------------------------------------

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions, oldest first; of those with the same id of one host, the one that is meant."""
        meant: dict[tuple[str, str], SessionRow] = {}
        with self._reading() as db:
            sql = "SELECT id, body FROM sessions ORDER BY (host = ? AND directory = ?), updated, key"
            bodies = db.execute(sql, (self._host, self._directory)).fetchall() if db is not None else ()
        for id, body in bodies:
            row = self._row(id, body)
            if row is not None:
                meant[row.host, row.id] = row  # the last one counts: our own, else the newest
        return tuple(sorted(meant.values(), key=lambda row: row.created))

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, `None` for an unknown id."""
        with self._reading() as db:
            stored = self._find(db, session_id)
            held = self._held.get(session_id)
        row = self._row(session_id, stored[1]) if stored is not None else None
        return held[0] if row is None and held is not None else row

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        """Return a session's messages in the order in which they were first seen, from behind the one `after`."""
        with self._held_lock:  # another thread may let go of them
            held = {message.id: message for message in self._held.get(session_id, (None, ()))[1]}
        position, started = -1, not after
        while True:
            with self._reading() as db:
                row = self._find(db, session_id)
                rows = []
                if db is not None and row is not None:
                    sql = "SELECT position, id, body FROM messages WHERE session = ? AND position > ?"
                    rows = db.execute(f"{sql} ORDER BY position LIMIT {_PAGE}", (row[0], position)).fetchall()
            for _, id, body in rows:
                message = held.pop(id, None) or self._message(id, body)
                if started and message is not None:
                    yield message
                started = started or id == after
            if len(rows) < _PAGE:
                break
            position = rows[-1][0]
        for message in held.values():  # the file could not be written, or had no room any more
            if started:
                yield message
            started = started or message.id == after
        if not started:
            raise TranscriptError(f"no message {after!r:.80} in this session", hint="Read it from its beginning.")

    def todos(self, session_id: str) -> tuple[Todo, ...]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the HUD itself shows them."""
        return ()

    def close(self) -> None:
        """Let go of the file; closing twice is harmless."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None
        with self._held_lock:
            self._held.clear()

    # -- inside ------------------------------------------------------------------------------------------------

    def _find(self, db: sqlite3.Connection | None, session_id: str) -> tuple[int, bytes] | None:
        """The key and the row of the session that is meant."""
        if db is None:
            return None
        sql = """SELECT key, body FROM sessions WHERE id = ?
            ORDER BY (host = ? AND directory = ?) DESC, updated DESC, key DESC LIMIT 1"""
        row: tuple[int, bytes] | None = db.execute(sql, (session_id, self._host, self._directory)).fetchone()
        return row

    def _put_session(self, db: sqlite3.Connection, row: SessionRow) -> int:
        name = (row.host, row.directory, row.id)
        sql = "SELECT key, body FROM sessions WHERE host = ? AND directory = ? AND id = ?"
        stored = db.execute(sql, name).fetchone()
        if stored is not None:
            before = self._row(row.id, stored[1])
            if before is not None:
                # The first words are its title: those of a later window are not.
                row = replace(row, title=before.title or row.title, created=before.created or row.created)
        db.execute(
            """INSERT INTO sessions (host, directory, id, updated, body) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (host, directory, id) DO UPDATE SET updated = excluded.updated, body = excluded.body""",
            (*name, row.updated, _body(row)),
        )
        return int(db.execute(sql, name).fetchone()[0])

    def _make_room(self, db: sqlite3.Connection, key: int) -> None:
        """Let the oldest go where the file is too large: other sessions first, then this one's oldest messages."""
        (total,) = db.execute("SELECT total(bytes) FROM sessions").fetchone()
        others = "SELECT key, bytes FROM sessions WHERE key != ? ORDER BY updated, key"
        for other, size in db.execute(others, (key,)).fetchall() if total > self._max_bytes else ():
            if total <= self._max_bytes:
                break
            db.execute("DELETE FROM messages WHERE session = ?", (other,))
            db.execute("DELETE FROM sessions WHERE key = ?", (other,))
            total -= size
        if total > self._max_bytes:
            oldest = db.execute("SELECT position, size FROM messages WHERE session = ? ORDER BY position", (key,))
            for position, size in oldest.fetchall():
                if total <= self._max_bytes:
                    break
                db.execute("DELETE FROM messages WHERE position = ?", (position,))
                total -= size
            db.execute("UPDATE sessions SET bytes = ? WHERE key = ?", (total, key))

    def _message(self, id: str, body: bytes) -> Message | None:
        return self._decoded("messages", id, body, Message)

    def _row(self, id: str, body: bytes) -> SessionRow | None:
        return self._decoded("sessions", id, body, SessionRow)

    def _decoded(self, table: str, id: str, body: bytes, kind: type[_Record]) -> _Record | None:
        """What a row holds; `None` where it is damaged: the others can be read all the same."""
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
            with self._lock:
                if len(self._skipped) < _MAX_SKIPPED:
                    self._skipped[id] = UnreadableRecord(table, id, str(error))
            return None

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Run one durable step: all of the block or nothing."""
        with self._lock, store_errors(self.path or Path(":memory:")):
            db = self._connected(write=True)
            assert db is not None
            # the write lock at once: two processes that write one session take turns
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection for reading; `None` where nothing was written yet. Raises `TranscriptError`."""
        try:
            with self._lock, store_errors(self.path or Path(":memory:")):
                yield self._connected(write=False)
        except StoreError as error:
            raise TranscriptError(f"the conversations cannot be read: {error.message}", hint=error.hint) from error

    def _connected(self, *, write: bool) -> sqlite3.Connection | None:
        """Return the connection, opened where it is not; `None` where there is no file, and none is needed to read.

        Raises what SQLite and the system raise.
        """
        if self._read_only and write:
            raise StoreReadOnly(f"{self.path} was opened read-only", hint="Open it for writing")
        if self._db is None and (write or self.path is None or self.path.exists()):
            self._db = self._opened()
        return self._db

    def _opened(self) -> sqlite3.Connection:
        if self.path is None:
            db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            migrate(db, Path(":memory:"), _SCHEMA)
            return db
        check_private_path(self.path, create=not self._read_only)
        if self._read_only:
            db = connect_reader(self.path, self._timeout)
        else:
            with suppress(FileExistsError):
                create_private_file(self.path)
            db = connect_writer(self.path, self._timeout)
        try:
            if self._read_only:
                check_current(db, self.path, _SCHEMA)
            else:
                db.execute("PRAGMA foreign_keys = ON")
                # smaller than the log's: nothing else checkpoints this file
                db.execute("PRAGMA wal_autocheckpoint = 1000")
                migrate(db, self.path, _SCHEMA)
        except BaseException:
            db.close()
            raise
        return db


def _put_message(db: sqlite3.Connection, key: int, message: Message, *, closed: bool) -> None:
    body = _body(message)
    db.execute(
        """INSERT INTO messages (session, id, closed, size, body) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (session, id) DO UPDATE SET
            closed = excluded.closed, size = excluded.size, body = excluded.body""",
        (key, message.id, closed, len(body), body),
    )


def _tail_start(db: sqlite3.Connection, key: int, window: Collection[str]) -> str:
    """Return the id from which on all that was said stands in the window still; empty where the last does not."""
    start = ""
    for (id,) in db.execute("SELECT id FROM messages WHERE session = ? ORDER BY position DESC", (key,)):
        if id not in window:
            break
        start = id
    return start


def _marker(summary: Message, tail_start: str) -> Message:
    """Return what stands before a summary: from where on a compaction left messages word for word."""
    part = CompactionPart(f"{summary.id}-marker", auto=True, tail_start_id=tail_start)
    return Message(part.id, summary.session_id, "user", created=summary.created, parts=(part,))


def _body(record: msgspec.Struct) -> bytes:
    """A record as it is written: without secrets in known forms, and without what UTF-8 cannot carry."""
    try:
        raw = msgspec.json.encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):
        raw = msgspec.json.encode(_plain(msgspec.to_builtins(record, str_keys=True)))
    return replace_secrets(raw)


def _plain(value: object, depth: int = 0) -> object:
    if depth > 100:  # a structure that contains itself
        return "(nested too deep)"
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, dict):
        return {escape_surrogates(str(name)): _plain(item, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, bool | int | float) or value is None:
        return value if not isinstance(value, int) or abs(value) < 2**63 else str(value)[:1_000]
    return escape_surrogates(str(value))
