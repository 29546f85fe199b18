"""The sessions' database: each step of a session is durable when its call returns, and one process writes a session.

The order of a turn keeps a transcript valid over a kill at any point: the user's message first, then the open
response, each call as `running` before it runs and with its result after, last the response's end. What was cut off
is closed when the session is locked again: a running call gets the error that says so, and is not run again.

Bodies are JSON of the structs of `records`; the columns beside a body are what is asked for without reading it.
`messages.position` and `parts.position` give the order in which each was first stored.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from hudkit.agent.file_changes import FileChange, FileChanges, drop_unused_contents
from hudkit.agent.records import (
    INTERRUPTED,
    NEXT_STATUSES,
    FileDiff,
    RecoveryReport,
    ReportedUsage,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredProject,
    StoredSession,
    Todo,
    encode_record,
    resume_hint,
)
from hudkit.errors import SessionError, StoreDamaged, StoreError, StoreReadOnly, StoreUnsafe
from hudkit.lazy import blake2b
from hudkit.log import Finding
from hudkit.log.redaction import SecretText, contains_secret, remove_from_json
from hudkit.log.stores.migrations import (
    MigrationStep,
    Schema,
    check_current,
    check_definitions,
    check_version,
    migrate,
)
from hudkit.log.stores.sqlite_files import (
    OpenFiles,
    check_private_path,
    companion_path,
    connect_reader,
    connect_writer,
    create_private_file,
    shrink_database,
    store_errors,
    translate_error,
    used_bytes,
)

SESSIONS_FILE = "sessions.db"
"""The name of the database in hudkit's data directory."""

_APPLICATION_ID = 0x4855444C
"""`PRAGMA application_id` of every file of sessions (the letters HUDL)."""

_MIGRATIONS: Sequence[MigrationStep] = (
    (
        f"PRAGMA application_id = {_APPLICATION_ID}",
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
        # small on purpose: after a kill only these are looked at
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


SESSIONS_SCHEMA = Schema(
    _APPLICATION_ID,
    _MIGRATIONS,
    "holds no sessions of hudkit",
    "Name another file",
    keeps_copy=False,
)
"""What `migrations` needs to know of a file of sessions."""


def _open_writer(path: Path, timeout: float) -> tuple[OpenFiles, sqlite3.Connection]:
    """Return a connection that writes, and which files it has open.

    The file is made (0600, in a directory of one's own) where it is missing.

    `timeout` is how many seconds it waits for locks. Raises a `StoreError`: `StoreTooNew` for a newer version's file,
    `StoreDamaged` for what is not ours.
    """
    with store_errors(path):
        check_private_path(path, create=True)
        with suppress(FileExistsError):
            create_private_file(path)
        if path.stat().st_size:  # a newer or a foreign file stays as it is: look before anything is written
            probe = connect_reader(path, timeout)
            try:
                check_version(probe, path, SESSIONS_SCHEMA)
            finally:
                probe.close()
        files = OpenFiles(path)
        db = connect_writer(path, timeout)
        try:
            # off by default in SQLite, and needed: cutting a message takes its parts and changes along
            db.execute("PRAGMA foreign_keys = ON")
            # smaller than the log's: nothing else checkpoints this file
            db.execute("PRAGMA wal_autocheckpoint = 1000")
            migrate(db, path, SESSIONS_SCHEMA)
            check_definitions(db, path, SESSIONS_SCHEMA)
        except BaseException:
            db.close()
            raise
        return files, db


def _open_reader(path: Path, timeout: float) -> tuple[OpenFiles, sqlite3.Connection]:
    """Return a connection that only reads, and which files it has open.

    Raises a `StoreError`, also where there is no file yet.
    """
    with store_errors(path):
        check_private_path(path, create=False)
        files = OpenFiles(path)
        db = connect_reader(path, timeout)
        try:
            check_current(db, path, SESSIONS_SCHEMA)
            check_definitions(db, path, SESSIONS_SCHEMA)
        except BaseException:
            db.close()
            raise
        return files, db


class PendingDeletion(msgspec.Struct, frozen=True):
    """A session that is deleted, and what may still be there of it: outputs of its calls (files), and with `hud` the
    contents of its HUD's log."""

    id: str
    hud: bool = False
    outputs: tuple[str, ...] = ()


_DELETED = "(deleted)"
"""The project of a row that only notes a deletion which is not over: its body is a `PendingDeletion`."""

_BEHIND_ALL = 2**62

_CUT_OFF = "The process ended while this call ran. It may have had effects; it was not run again."
_NEVER_RAN = "The process ended before this call ran. It was not run."

_Kind = TypeVar("_Kind")


class SessionStore:
    """Sessions in one SQLite file.

    Calls are synchronous and may come from any thread; times come from outside (Unix ms).
    """

    def __init__(self, path: Path, files: OpenFiles, db: sqlite3.Connection, *, writes: bool) -> None:
        self.path = path
        self._files = files
        self._db = db
        self._writes = writes
        # reentrant: a transaction reads by the same methods
        self._lock = threading.RLock()
        self._locks = _SessionLocks(path)
        self._closed = False
        self.changes = FileChanges(self._writing, self._reading)
        self.updates = 0
        """How often titles, agents, models and directories were changed here: of sessions that are locked here, by
        nobody else."""

    @classmethod
    def open(cls, path: str | PathLike[str], *, read_only: bool = False, busy_timeout: float = 5.0) -> SessionStore:
        """Return the store of the file at `path`, which is made where it is missing. Raises a `StoreError`.

        `busy_timeout` is how many seconds a call waits for another process.
        """
        place = Path(path).absolute()
        files, db = (_open_reader if read_only else _open_writer)(place, busy_timeout)
        return cls(place, files, db, writes=not read_only)

    def close(self) -> None:
        """Release the sessions and the file; return nothing. Closing twice is harmless."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._locks.close()
                self._db.close()

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def project(self, project: StoredProject) -> StoredProject:
        """Remember a project and return what is stored of it: what was stored first, but for its root."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO projects VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET root = excluded.root",
                (project.id, project.root, project.created),
            )
            row = db.execute("SELECT id, root, created FROM projects WHERE id = ?", (project.id,)).fetchone()
        return StoredProject(*row)

    def projects(self) -> tuple[StoredProject, ...]:
        """Return all projects, oldest first."""
        return tuple(
            StoredProject(*row) for row in self._fetch("SELECT id, root, created FROM projects ORDER BY created, id")
        )

    def create(self, session: StoredSession) -> None:
        """Store a new session and lock it; return nothing.

        Raises `SessionError` where the id is taken or the parent unknown.
        """
        with self._writing() as db:
            if session.parent_id and _row(db, "sessions", session.parent_id) is None:
                raise SessionError(f"no session {session.parent_id!r:.80} to be the parent")
            if _row(db, "sessions", session.id) is not None:
                raise SessionError(f"session {session.id!r:.80} is there already", hint="`resume` goes on with it")
            # within the transaction: a session that exists is one that somebody holds
            self._locks.acquire(session.id)
            place = db.execute("SELECT coalesce(max(position), 0) + 1 FROM sessions").fetchone()[0]
            values = (session.id, place, session.project_id, session.parent_id, session.updated or session.created)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", (*values, encode_record(session)))

    def create_copy(
        self,
        session: StoredSession,
        messages: Sequence[StoredMessage],
        todos: Sequence[Todo],
        diffs: Sequence[FileDiff],
        changes: Sequence[FileChange],
    ) -> None:
        """Store a new session with all that it begins with, in one step; return nothing. It is left unlocked.

        Raises `SessionError` as `create` does.
        """
        try:
            with self._writing() as db:
                self.create(session)
                for message in messages:
                    head = encode_record(replace(message, parts=()))
                    sql = "INSERT INTO messages (id, session_id, role, open, body) VALUES (?, ?, ?, ?, ?)"
                    db.execute(sql, (message.id, session.id, message.role, message.open, head))
                    for part in message.parts:
                        status = part.status if isinstance(part, StoredCall) else ""
                        sql = "INSERT INTO parts (id, message_id, session_id, status, body) VALUES (?, ?, ?, ?, ?)"
                        db.execute(sql, (part.id, message.id, session.id, status, encode_record(part)))
                self.set_todos(session.id, todos)
                self.add_diffs(session.id, diffs)
                self.changes.add_all(db, changes)
        finally:
            self.release(session.id)

    def resume(self, session_id: str, now: int) -> RecoveryReport:
        """Lock a stored session, close what was cut off in it, and return what that was.

        Nothing is closed where the session is locked here already. Raises `SessionError`: unknown, or another process
        has it.
        """
        taken = False
        try:
            with self._writing() as db:
                if _row(db, "sessions", session_id) is None:
                    raise _unknown("session", session_id)
                # only who takes the lock anew may close what is open: within this process it may be running
                taken = self._locks.acquire(session_id)
                if not taken:
                    return RecoveryReport()
                sub_sessions = tuple(self._recover_below(db, session_id, now))
                return replace(self._recover(db, session_id, now), sub_sessions=sub_sessions)
        except BaseException:
            if taken:  # what is claimed here is mended
                self._locks.release(session_id)
            raise

    def release(self, session_id: str) -> None:
        """Let other processes write the session, and return nothing; harmless where it is not locked."""
        with self._lock:
            self._locks.release(session_id)

    def update(self, session_id: str, now: int, **changes: Any) -> StoredSession:
        """Change a session's `title`, `agent`, `model` or `directory`; return the session as it is now."""
        if set(changes) - {"title", "agent", "model", "directory"}:
            raise TypeError(f"a session's {', '.join(sorted(changes))} cannot be set")
        with self._writing(session_id) as db:
            session = self._touch(db, session_id, now, **changes)
        self.updates += 1
        return session

    def session(self, session_id: str) -> StoredSession | None:
        """Return a session by its id; `None` where there is none."""
        sql = "SELECT body FROM sessions WHERE id = ? AND project_id != ?"
        rows = self._fetch(sql, (session_id, _DELETED))
        return self._read(rows[0][0], StoredSession) if rows else None

    def sessions(self, project_id: str | None = None) -> tuple[StoredSession, ...]:
        """Return all sessions, or those of a project, oldest first."""
        where, values = " WHERE project_id != ?", [_DELETED]
        if project_id is not None:
            where, values = f"{where} AND project_id = ?", [*values, project_id]
        rows = self._fetch(f"SELECT body FROM sessions{where} ORDER BY position", tuple(values))
        return tuple(self._read(body, StoredSession) for (body,) in rows)

    def begin_deletion(self, session_id: str, *, hud: bool = False) -> tuple[str, ...]:
        """Delete a session and its sub-sessions from this file, in one step; return their ids, its own first.

        What other files have of them is noted, until `finish_deletion`. Raises `SessionError`: unknown, or another
        process has one of them; nothing is deleted then.
        """
        taken: list[str] = []
        try:
            with self._writing() as db:
                if _row(db, "sessions", session_id) is None:
                    raise _unknown("session", session_id)
                ids = (session_id, *self.changes.sub_sessions(session_id))
                for id in ids:
                    if self._locks.acquire(id):
                        taken.append(id)
                    own = "message_id IN (SELECT id FROM messages WHERE session_id = ?)"
                    bodies = db.execute(f"SELECT body FROM parts WHERE {own} AND status != ''", (id,)).fetchall()
                    calls = [self._read(body, StoredPart) for (body,) in bodies]
                    outputs = tuple(call.metadata["whole"] for call in calls if "whole" in call.metadata)
                    note = msgspec.json.encode(PendingDeletion(id, hud, outputs))
                    # parts, diffs and changes go with their messages
                    for table in ("messages", "todos"):
                        db.execute(f"DELETE FROM {table} WHERE session_id = ?", (id,))
                    sql = "UPDATE sessions SET project_id = ?, parent_id = '', body = ? WHERE id = ?"
                    db.execute(sql, (_DELETED, note, id))
                drop_unused_contents(db)
        finally:
            for id in taken:
                self.release(id)
        return ids

    def pending_deletions(self) -> tuple[PendingDeletion, ...]:
        """Return the deletions that are not over: something of the sessions may be in other files."""
        rows = self._fetch("SELECT body FROM sessions WHERE project_id = ? ORDER BY position", (_DELETED,))
        return tuple(self._read(body, PendingDeletion) for (body,) in rows)

    def finish_deletion(self, session_id: str) -> None:
        """Forget a deletion that is over; return nothing."""
        with self._writing() as db:
            db.execute("DELETE FROM sessions WHERE id = ? AND project_id = ?", (session_id, _DELETED))

    def shrink(self) -> None:
        """Give back the room of what was deleted, and its bytes; return nothing. Somebody who reads puts it off."""
        with self._lock, store_errors(self.path):
            shrink_database(self._db)

    def used_bytes(self) -> int:
        """Return how many bytes of the file are in use."""
        with self._reading() as db:
            return used_bytes(db)

    def message_counts(self) -> dict[str, int]:
        """Return how many messages each session has, without those that were taken back."""
        with self._reading() as db:
            counts = dict(db.execute("SELECT session_id, count(*) FROM messages GROUP BY session_id").fetchall())
            for session in self.sessions():
                if session.undone_from:
                    sql = "SELECT count(*) FROM messages WHERE session_id = ? AND position < ?"
                    end = self._visible_end(session.id)
                    counts[session.id] = db.execute(sql, (session.id, end)).fetchone()[0]
        return counts

    def put(self, message: StoredMessage, *, beside: Callable[[], object] | None = None) -> None:
        """Store a message, or what is new in one; return nothing.

        Its head is replaced, its parts are added or updated. `beside` is called when all that is left is to wait for
        the disk: it starts what can be done meanwhile.
        Raises `SessionError`: an answer to nothing, another's id, an end that is taken back, a call out of order.
        """
        with self._writing(message.session_id) as db:
            self._put_head(db, message)
            for part in message.parts:
                self._put_part(db, message.session_id, message.id, part)
            self._touch(db, message.session_id, message.completed or message.created)
            if beside is not None:
                beside()

    def put_parts(
        self,
        session_id: str,
        message_id: str,
        parts: Iterable[StoredPart],
        *,
        beside: Callable[[], object] | None = None,
    ) -> None:
        """Add parts to a stored message, or update them, in one step; return nothing.

        `beside`, and what is raised, are as in `put`.
        """
        with self._writing(session_id) as db:
            if _row(db, "messages", message_id, session_id) is None:
                raise _unknown("message", message_id)
            for part in parts:
                self._put_part(db, session_id, message_id, part)
            if beside is not None:
                beside()

    def take_back(self, session_id: str, message_id: str, now: int) -> int:
        """Take back a message and all that came after it; return how many messages that were.

        Nobody sees them any more. `bring_back` shows them again, until a new message is stored: that removes them.
        What they cost stays counted.
        """
        with self._writing(session_id) as db:
            row = _row(db, "messages", message_id, session_id)
            end = self._visible_end(session_id)
            if row is None or row[0] >= end:
                raise _unknown("message", message_id)
            sql = "SELECT count(*) FROM messages WHERE session_id = ? AND position >= ? AND position < ?"
            count = db.execute(sql, (session_id, row[0], end)).fetchone()[0]
            self._touch(db, session_id, now, undone_from=message_id)
        return int(count)

    def bring_back(self, session_id: str, until: str, now: int) -> None:
        """Show messages again that were taken back, up to before the one with the id `until` (empty: all)."""
        with self._writing(session_id) as db:
            if until and _row(db, "messages", until, session_id) is None:
                raise _unknown("message", until)
            self._touch(db, session_id, now, undone_from=until)

    def taken_back(self, session_id: str) -> tuple[StoredMessage, ...]:
        """Return the messages that were taken back and can be brought back, in order."""
        return tuple(
            self._messages("m.session_id = ? AND m.position >= ?", (session_id, self._visible_end(session_id)))
        )

    def message(self, session_id: str, message_id: str) -> StoredMessage | None:
        """Return a message with its parts; `None` where there is none."""
        matches = list(self._messages("m.session_id = ? AND m.id = ?", (session_id, message_id)))
        return matches[0] if matches else None

    def messages(self, session_id: str, *, after: str = "") -> tuple[StoredMessage, ...]:
        """Return a session's messages with their parts, in order, from behind the one with the id `after`."""
        start = 0
        if after:
            rows = self._fetch("SELECT position FROM messages WHERE session_id = ? AND id = ?", (session_id, after))
            if not rows:
                raise _unknown("message", after)
            start = rows[0][0]
        end = self._visible_end(session_id)
        if start >= end:
            raise _unknown("message", after)
        where = "m.session_id = ? AND m.position > ? AND m.position < ?"
        return tuple(self._messages(where, (session_id, start, end)))

    def set_todos(self, session_id: str, todos: Sequence[Todo]) -> None:
        """Replace a session's list of todos; return nothing."""
        with self._writing(session_id) as db:
            db.execute("DELETE FROM todos WHERE session_id = ?", (session_id,))
            rows = [(session_id, place, encode_record(todo)) for place, todo in enumerate(todos)]
            db.executemany("INSERT INTO todos VALUES (?, ?, ?)", rows)

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        """Return a session's list of todos."""
        rows = self._fetch("SELECT body FROM todos WHERE session_id = ? ORDER BY place", (session_id,))
        return tuple(self._read(body, Todo) for (body,) in rows)

    def add_diffs(self, session_id: str, diffs: Iterable[FileDiff]) -> None:
        """Record what responses changed in files; return nothing."""
        with self._writing(session_id) as db:
            for diff in diffs:
                if _row(db, "messages", diff.message_id, session_id) is None:
                    raise _unknown("message", diff.message_id)
                values = (session_id, diff.message_id, diff.path, encode_record(diff))
                db.execute("INSERT INTO diffs (session_id, message_id, path, body) VALUES (?, ?, ?, ?)", values)

    def diffs(self, session_id: str, *, message_id: str = "") -> tuple[FileDiff, ...]:
        """Return what a session, or one response, changed in files, in order."""
        sql = """SELECT body FROM diffs WHERE session_id = ? AND (? = '' OR message_id = ?) AND message_id NOT IN
            (SELECT id FROM messages WHERE session_id = ? AND position >= ?) ORDER BY position"""
        values = (session_id, message_id, message_id, session_id, self._visible_end(session_id))
        rows = self._fetch(sql, values)
        return tuple(self._read(body, FileDiff) for (body,) in rows)

    def _put_head(self, db: sqlite3.Connection, message: StoredMessage) -> None:
        row = _row(db, "messages", message.id)
        spent, cost = message.usage or ReportedUsage(), message.cost
        if row is None:
            self._remove_taken_back(db, message.session_id)
            if message.role == "assistant" and _row(db, "messages", message.parent_id, message.session_id) is None:
                raise SessionError(f"message {message.id!r:.80} answers no message of its session")
            sql = "INSERT INTO messages (id, session_id, role, open, body) VALUES (?, ?, ?, ?, ?)"
            body = encode_record(replace(message, parts=()))
            db.execute(sql, (message.id, message.session_id, message.role, message.open, body))
        else:
            old = self._read(row[1], StoredMessage)
            if (old.session_id, old.role, old.parent_id) != (message.session_id, message.role, message.parent_id):
                raise SessionError(f"message {message.id!r:.80} is another one: session, role or parent differ")
            if message.open and not old.open:
                raise SessionError(f"message {message.id!r:.80} has ended; it cannot be opened again")
            # a head is stored several times: only what is new counts into the session's sums
            spent, cost = _usage_difference(spent, old.usage or ReportedUsage()), cost - old.cost
            body = encode_record(replace(message, parts=()))
            db.execute("UPDATE messages SET open = ?, body = ? WHERE id = ?", (message.open, body, message.id))
        if spent != ReportedUsage() or cost:
            session = self._session(db, message.session_id)
            self._store(db, replace(session, usage=_usage_sum(session.usage, spent), cost=session.cost + cost))

    def _visible_end(self, session_id: str) -> int:
        """The position of the first message that was taken back; behind all where none was."""
        session = self.session(session_id)
        rows = []
        if session is not None and session.undone_from:
            rows = self._fetch("SELECT position FROM messages WHERE id = ?", (session.undone_from,))
        return int(rows[0][0]) if rows else _BEHIND_ALL

    def _remove_taken_back(self, db: sqlite3.Connection, session_id: str) -> None:
        session = self.session(session_id)
        if session is None or not session.undone_from:
            return
        where = (session_id, self._visible_end(session_id))
        db.execute("DELETE FROM messages WHERE session_id = ? AND position >= ?", where)
        drop_unused_contents(db)
        self._store(db, replace(session, undone_from=""))

    def _put_part(self, db: sqlite3.Connection, session_id: str, message_id: str, part: StoredPart) -> None:
        row = db.execute("SELECT message_id, status, body FROM parts WHERE id = ?", (part.id,)).fetchone()
        if row is not None and row[0] != message_id:
            raise SessionError(f"part {part.id!r:.80} belongs to another message")
        status = part.status if isinstance(part, StoredCall) else ""
        if isinstance(part, StoredCall):
            before = row[1] if row else ""
            # no completed call that was never seen to run: see `NEXT_STATUSES`
            if status not in NEXT_STATUSES[before]:
                raise SessionError(f"call {part.call_id!r:.80} cannot be {status} after {before or 'nothing'}")
            if before in ("completed", "error"):
                old = self._read(row[2], StoredPart)
                # what a call gave is history: only pruning may mark it
                if not isinstance(old, StoredCall) or replace(part, compacted=0) != replace(old, compacted=0):
                    raise SessionError(f"call {part.call_id!r:.80} has ended; only `compacted` can change")
        if row is None:
            sql = "INSERT INTO parts (id, message_id, session_id, status, body) VALUES (?, ?, ?, ?, ?)"
            db.execute(sql, (part.id, message_id, session_id, status, encode_record(part)))
        else:
            db.execute("UPDATE parts SET status = ?, body = ? WHERE id = ?", (status, encode_record(part), part.id))

    def _recover_below(self, db: sqlite3.Connection, session_id: str, now: int) -> Iterator[str]:
        """Close what was cut off in sub-sessions, and yield their ids; one that another process has is left to it."""
        for child in self.changes.sub_sessions(session_id):
            if child in self._locks:
                continue
            with suppress(SessionError):
                self._locks.acquire(child)
                try:
                    if self._recover(db, child, now):
                        yield child
                finally:
                    self._locks.release(child)

    def _recover(self, db: sqlite3.Connection, session_id: str, now: int) -> RecoveryReport:
        calls, messages = [], []
        sql = "SELECT body FROM parts WHERE session_id = ? AND status IN ('pending', 'running') ORDER BY position"
        for (body,) in db.execute(sql, (session_id,)).fetchall():
            call = self._read(body, StoredPart)
            if isinstance(call, StoredCall):
                reason = _CUT_OFF + resume_hint(call) if call.status == "running" else _NEVER_RAN
                closed = replace(call, status="error", error=reason, ended=now, interrupted=True)
                db.execute(
                    "UPDATE parts SET status = 'error', body = ? WHERE id = ?", (encode_record(closed), call.id)
                )
                calls.append(call.call_id)
        sql = "SELECT body FROM messages WHERE session_id = ? AND open ORDER BY position"
        for (body,) in db.execute(sql, (session_id,)).fetchall():
            cut = replace(self._read(body, StoredMessage), error=INTERRUPTED, aborted=True, completed=now)
            db.execute("UPDATE messages SET open = 0, body = ? WHERE id = ?", (encode_record(cut), cut.id))
            messages.append(cut.id)
        return RecoveryReport(tuple(calls), tuple(messages))

    def _messages(self, where: str, values: tuple[Any, ...]) -> Iterator[StoredMessage]:
        with self._reading() as db:
            heads = db.execute(
                f"SELECT m.id, m.body FROM messages m WHERE {where} ORDER BY m.position", values
            ).fetchall()
            sql = f"""SELECT p.message_id, p.body FROM messages m JOIN parts p ON p.message_id = m.id
                WHERE {where} ORDER BY p.position"""
            parts: dict[str, list[StoredPart]] = {}
            for id, body in db.execute(sql, values):
                parts.setdefault(id, []).append(self._read(body, StoredPart))
        for id, body in heads:
            yield replace(self._read(body, StoredMessage), parts=tuple(parts.get(id, ())))

    def _touch(self, db: sqlite3.Connection, session_id: str, now: int, **changes: Any) -> StoredSession:
        session = self._session(db, session_id)
        # clocks go backwards; the list of sessions should not
        session = replace(session, updated=max(now, session.updated), **changes)
        self._store(db, session)
        return session

    def _session(self, db: sqlite3.Connection, session_id: str) -> StoredSession:
        row = _row(db, "sessions", session_id)
        if row is None:
            raise _unknown("session", session_id)
        session: StoredSession = self._read(row[1], StoredSession)
        return session

    def _store(self, db: sqlite3.Connection, session: StoredSession) -> None:
        values = (session.updated, encode_record(session), session.id)
        db.execute("UPDATE sessions SET updated = ?, body = ? WHERE id = ?", values)

    def _read(self, body: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            finding = Finding("file", "", 0, f"{self.path}: a record cannot be read: {error}")
            raise StoreDamaged(finding.message, hint="Restore a copy of the file", finding=finding) from None

    @contextmanager
    def _writing(self, session_id: str = "") -> Iterator[sqlite3.Connection]:
        """Run one durable step: all of the block or nothing. Within another one it is a part of that."""
        with self._lock:
            self._check_open()
            if not self._writes:
                raise StoreReadOnly(f"{self.path} was opened read-only", hint="Open it for writing")
            if session_id and session_id not in self._locks:
                if self.session(session_id) is None:
                    raise _unknown("session", session_id)
                raise SessionError(f"session {session_id!r:.80} is not claimed", hint="`resume` it first")
            within = self._db.in_transaction
            if within:
                yield self._db
                return
            self._files.check(self._db)
            try:
                # the write lock at once: a read that became a write could fail in between
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
                # what went into a file that was taken away is not stored
                self._files.check(self._db)
            except BaseException as error:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")
                translated = None
                # our own refusals go through as they are; what SQLite says becomes a `StoreError`
                if isinstance(error, Exception) and not isinstance(error, SessionError | StoreError | TypeError):
                    translated = translate_error(error, self.path)
                if translated is None:
                    raise
                raise translated from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Show one moment of the file to all statements of the block."""
        with self._lock, store_errors(self.path):
            self._check_open()
            # within a step the same statements read what the step has written
            alone = not self._db.in_transaction
            if alone:
                self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if alone and self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _fetch(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._reading() as db:
            return db.execute(sql, values).fetchall()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("the sessions are closed", hint="Open them again")


def _row(db: sqlite3.Connection, table: str, id: str, session_id: str = "") -> tuple[int, bytes] | None:
    """Return position and body of a row of a table of ours, by its id; of this session only, where one is given."""
    mine = " AND session_id = ?" if session_id else ""
    if table == "sessions":
        mine += f" AND project_id != '{_DELETED}'"
    values = (id, session_id) if session_id else (id,)
    row = db.execute(f"SELECT position, body FROM {table} WHERE id = ?{mine}", values).fetchone()
    return None if row is None else (row[0], row[1])


def _unknown(what: str, id: str) -> SessionError:
    return SessionError(f"no {what} {id!r:.80}", hint=f"Take the id of a stored {what}")


def _usage_sum(first: ReportedUsage, second: ReportedUsage) -> ReportedUsage:
    """Return the sums of what was used; the total of a sum is that of its parts."""
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return ReportedUsage(None, *(getattr(first, name) + getattr(second, name) for name in names))


def _usage_difference(first: ReportedUsage, second: ReportedUsage) -> ReportedUsage:
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return ReportedUsage(None, *(getattr(first, name) - getattr(second, name) for name in names))


# -- taking a text out of the file ------------------------------------------------------------------------------

_JSON_COLUMNS = (("sessions", "body"), ("messages", "body"), ("parts", "body"), ("todos", "body"), ("diffs", "body"))


def redact_sessions(path: Path, wanted: Sequence[SecretText], *, busy_timeout: float = 5.0) -> int:
    """Take texts out of a file of sessions, physically; return how many rows held one.

    What a file was before a change is forgotten where it held one: that change is not taken back by an undo.

    Raises a `StoreError`, and nothing is changed then.
    """
    _, db = _open_writer(path, busy_timeout)
    count = 0
    try:
        with store_errors(path):
            db.execute("BEGIN IMMEDIATE")
            for table, column in _JSON_COLUMNS:
                for row, body in db.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                    clean = remove_from_json(body, wanted)
                    if clean is not body:
                        db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (clean, row))
                        count += 1
            for digest, raw in db.execute("SELECT digest, raw FROM contents").fetchall():
                if contains_secret(zlib.decompress(raw), wanted):
                    db.execute("DELETE FROM contents WHERE digest = ?", (digest,))
                    count += 1
            for table in ("diffs", "changes"):
                for row, name in db.execute(f"SELECT rowid, path FROM {table}").fetchall():
                    if contains_secret(name.encode("utf-8", "surrogateescape"), wanted):
                        db.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
                        count += 1
            db.execute("COMMIT")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.close()
    return count


# -- who may write a session: one process at a time ------------------------------------------------------------


class _SessionLocks:
    """The sessions of one database that this process may write; the system takes them back when it ends.

    Each session that is being written has a file in `NAME.claims` beside the database, named by a digest of its id
    (an id may hold anything) and locked with `flock`. Releasing removes the file first and closes it then; who gets a
    lock checks that the file of this name is still the one that it has locked, and begins again where it is not:

        A: unlink f, close        B: open f (the old one), lock it -> the name leads elsewhere -> open anew
    """

    def __init__(self, database: Path) -> None:
        self._folder = companion_path(database, ".claims")
        self._held: dict[str, int] = {}

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._held

    def acquire(self, session_id: str) -> bool:
        """Lock a session; return whether it was not locked here before.

        Raises `SessionError`: another process has it.
        """
        if session_id in self._held:
            return False
        with store_errors(self._folder):
            self._make_folder()
            fd = self._lock_file(self._path(session_id))
        if fd is None:
            raise SessionError(
                f"session {session_id!r:.80} is being written by another process",
                hint="End that process, or start a session of its own",
            )
        self._held[session_id] = fd
        return True

    def release(self, session_id: str) -> None:
        """Let a session go, and return nothing; harmless where it is not locked."""
        fd = self._held.pop(session_id, None)
        if fd is not None:
            with suppress(OSError):
                self._path(session_id).unlink()  # before the lock goes: who waits for it sees that the file is gone
            os.close(fd)

    def close(self) -> None:
        """Let all sessions go; return nothing."""
        for session_id in tuple(self._held):
            self.release(session_id)

    def _path(self, session_id: str) -> Path:
        return self._folder / blake2b(session_id.encode("utf-8", "replace"), digest_size=16).hexdigest()

    def _make_folder(self) -> None:
        with suppress(FileExistsError):
            self._folder.mkdir(mode=0o700)
        # a directory that somebody else made could let him take or hold any lock
        status = self._folder.lstat()
        if status.st_uid != os.geteuid() or not self._folder.is_dir() or self._folder.is_symlink():
            raise StoreUnsafe(f"{self._folder} is not a directory of yours", hint="Move it away")

    def _lock_file(self, path: Path) -> int | None:
        """Return a locked descriptor of the file that has this name now; `None` where another has the lock."""
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                # `flock`, not `lockf`: the lock belongs to the descriptor, and a second one in this process does not
                # take it away
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(FileNotFoundError):
                    if os.fstat(fd).st_ino == path.stat().st_ino:
                        return fd
            except BlockingIOError:
                os.close(fd)
                return None
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)
