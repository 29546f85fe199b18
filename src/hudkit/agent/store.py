"""The sessions' database: every step of a session is durable when its call returns, and one process writes a session.

The order of a turn is what keeps a transcript valid over a kill at any point: the user's message first, then the open
response, each call as `running` before it runs and with its result after, last the response's end. What was cut off
is closed when the session is claimed again: a running call gets the error that says so, and is not run again.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from hudkit.agent.changes import Changes, sweep
from hudkit.agent.claim import Claims
from hudkit.agent.encoding import encoded
from hudkit.agent.records import (
    INTERRUPTED,
    NEXT,
    Call,
    FileDiff,
    Mended,
    Message,
    Part,
    Project,
    Reported,
    Session,
    Todo,
)
from hudkit.agent.schema import open_reader, open_writer
from hudkit.errors import SessionError, StoreDamaged, StoreError, StoreReadOnly
from hudkit.log import Finding
from hudkit.log.stores.faults import translate, typed

CUT_OFF = "The process ended while this call ran. It may have had effects; it was not run again."
NEVER_RAN = "The process ended before this call ran. It was not run."

Kind = TypeVar("Kind")


class SessionStore:
    """Sessions in one SQLite file. Calls are synchronous and may come from any thread; times come from outside."""

    def __init__(self, path: Path, db: sqlite3.Connection, *, writes: bool) -> None:
        self.path = path
        self._db = db
        self._writes = writes
        self._lock = threading.RLock()
        self._claims = Claims(path)
        self._closed = False
        self.changes = Changes(self._writing, self._reading)

    @classmethod
    def open(cls, path: str | PathLike[str], *, read_only: bool = False, busy_timeout: float = 5.0) -> SessionStore:
        """Open or make the file at `path`. Raises a `StoreError`."""
        place = Path(path).absolute()
        db = (open_reader if read_only else open_writer)(place, busy_timeout)
        return cls(place, db, writes=not read_only)

    def close(self) -> None:
        """Give back the claims and let go of the file; closing twice is harmless."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._claims.close()
                self._db.close()

    def __enter__(self) -> SessionStore:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def project(self, project: Project) -> Project:
        """Remember a project; what is stored of it, which is what was stored first but for its root."""
        with self._writing() as db:
            db.execute(
                "INSERT INTO projects VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET root = excluded.root",
                (project.id, project.root, project.created),
            )
            row = db.execute("SELECT id, root, created FROM projects WHERE id = ?", (project.id,)).fetchone()
        return Project(*row)

    def projects(self) -> tuple[Project, ...]:
        return tuple(
            Project(*row) for row in self._fetch("SELECT id, root, created FROM projects ORDER BY created, id")
        )

    def create(self, session: Session) -> None:
        """Store a new session and claim it. Raises `SessionError` where the id is taken or the parent unknown."""
        with self._writing() as db:
            if session.parent_id and _row(db, "sessions", session.parent_id) is None:
                raise SessionError(f"no session {session.parent_id!r:.80} to be the parent")
            if _row(db, "sessions", session.id) is not None:
                raise SessionError(f"session {session.id!r:.80} is there already", hint="`resume` goes on with it")
            self._claims.take(session.id)
            place = db.execute("SELECT coalesce(max(position), 0) + 1 FROM sessions").fetchone()[0]
            values = (session.id, place, session.project_id, session.parent_id, session.updated or session.created)
            db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?)", (*values, encoded(session)))

    def resume(self, session_id: str, now: int) -> Mended:
        """Claim a stored session and close what was cut off in it; nothing to close where it is claimed here already.

        Raises `SessionError`: unknown, or another process has it.
        """
        taken = False
        try:
            with self._writing() as db:
                if _row(db, "sessions", session_id) is None:
                    raise _unknown("session", session_id)
                taken = self._claims.take(session_id)
                return self._mend(db, session_id, now) if taken else Mended()
        except BaseException:
            if taken:  # what is claimed here is mended
                self._claims.give(session_id)
            raise

    def release(self, session_id: str) -> None:
        """Let other processes write the session; harmless where it is not claimed."""
        with self._lock:
            self._claims.give(session_id)

    def update(self, session_id: str, now: int, **changes: Any) -> Session:
        """Change a session's `title`, `agent`, `model` or `directory`; the session as it is now."""
        if set(changes) - {"title", "agent", "model", "directory"}:
            raise TypeError(f"a session's {', '.join(sorted(changes))} cannot be set")
        with self._writing(session_id) as db:
            return self._touched(db, session_id, now, **changes)

    def session(self, session_id: str) -> Session | None:
        found = self._fetch("SELECT body FROM sessions WHERE id = ?", (session_id,))
        return self._read(found[0][0], Session) if found else None

    def sessions(self, project_id: str | None = None) -> tuple[Session, ...]:
        """All sessions, or those of a project, oldest first."""
        where, values = ("", ()) if project_id is None else (" WHERE project_id = ?", (project_id,))
        rows = self._fetch(f"SELECT body FROM sessions{where} ORDER BY position", values)
        return tuple(self._read(body, Session) for (body,) in rows)

    def put(self, message: Message) -> None:
        """Store a message, or what is new in one: its head is replaced, its parts are added or updated.

        Raises `SessionError`: an answer to nothing, another's id, an end that is taken back, a call out of order.
        """
        with self._writing(message.session_id) as db:
            self._put_head(db, message)
            for part in message.parts:
                self._put_part(db, message.session_id, message.id, part)
            self._touched(db, message.session_id, message.completed or message.created)

    def put_parts(self, session_id: str, message_id: str, parts: Iterable[Part]) -> None:
        """Add parts to a stored message, or update them, in one step. Raises `SessionError` as `put` does."""
        with self._writing(session_id) as db:
            if _row(db, "messages", message_id, session_id) is None:
                raise _unknown("message", message_id)
            for part in parts:
                self._put_part(db, session_id, message_id, part)

    def cut(self, session_id: str, message_id: str, now: int) -> int:
        """Take away a message and all that came after it; how many messages that were. What it cost stays counted."""
        with self._writing(session_id) as db:
            found = _row(db, "messages", message_id, session_id)
            if found is None:
                raise _unknown("message", message_id)
            where = (session_id, found[0])
            count = db.execute("DELETE FROM messages WHERE session_id = ? AND position >= ?", where).rowcount
            sweep(db)
            self._touched(db, session_id, now)
        return count

    def message(self, session_id: str, message_id: str) -> Message | None:
        found = list(self._messages("m.session_id = ? AND m.id = ?", (session_id, message_id)))
        return found[0] if found else None

    def messages(self, session_id: str, *, after: str = "") -> tuple[Message, ...]:
        """A session's messages with their parts, in order, from behind the one with the id `after`."""
        start = 0
        if after:
            found = self._fetch("SELECT position FROM messages WHERE session_id = ? AND id = ?", (session_id, after))
            if not found:
                raise _unknown("message", after)
            start = found[0][0]
        return tuple(self._messages("m.session_id = ? AND m.position > ?", (session_id, start)))

    def set_todos(self, session_id: str, todos: Sequence[Todo]) -> None:
        with self._writing(session_id) as db:
            db.execute("DELETE FROM todos WHERE session_id = ?", (session_id,))
            rows = [(session_id, place, encoded(todo)) for place, todo in enumerate(todos)]
            db.executemany("INSERT INTO todos VALUES (?, ?, ?)", rows)

    def todos(self, session_id: str) -> tuple[Todo, ...]:
        rows = self._fetch("SELECT body FROM todos WHERE session_id = ? ORDER BY place", (session_id,))
        return tuple(self._read(body, Todo) for (body,) in rows)

    def add_diffs(self, session_id: str, diffs: Iterable[FileDiff]) -> None:
        """Record what responses changed in files."""
        with self._writing(session_id) as db:
            for diff in diffs:
                if _row(db, "messages", diff.message_id, session_id) is None:
                    raise _unknown("message", diff.message_id)
                values = (session_id, diff.message_id, diff.path, encoded(diff))
                db.execute("INSERT INTO diffs (session_id, message_id, path, body) VALUES (?, ?, ?, ?)", values)

    def diffs(self, session_id: str, *, message_id: str = "") -> tuple[FileDiff, ...]:
        """What a session, or one response, changed in files, in order."""
        sql = "SELECT body FROM diffs WHERE session_id = ? AND (? = '' OR message_id = ?) ORDER BY position"
        rows = self._fetch(sql, (session_id, message_id, message_id))
        return tuple(self._read(body, FileDiff) for (body,) in rows)

    def _put_head(self, db: sqlite3.Connection, message: Message) -> None:
        found = _row(db, "messages", message.id)
        spent, cost = message.usage or Reported(), message.cost
        if found is None:
            if message.role == "assistant" and _row(db, "messages", message.parent_id, message.session_id) is None:
                raise SessionError(f"message {message.id!r:.80} answers no message of its session")
            sql = "INSERT INTO messages (id, session_id, role, open, body) VALUES (?, ?, ?, ?, ?)"
            body = encoded(replace(message, parts=()))
            db.execute(sql, (message.id, message.session_id, message.role, message.open, body))
        else:
            old = self._read(found[1], Message)
            if (old.session_id, old.role, old.parent_id) != (message.session_id, message.role, message.parent_id):
                raise SessionError(f"message {message.id!r:.80} is another one: session, role or parent differ")
            if message.open and not old.open:
                raise SessionError(f"message {message.id!r:.80} has ended; it cannot be opened again")
            spent, cost = _less(spent, old.usage or Reported()), cost - old.cost
            body = encoded(replace(message, parts=()))
            db.execute("UPDATE messages SET open = ?, body = ? WHERE id = ?", (message.open, body, message.id))
        if spent != Reported() or cost:
            session = self._session(db, message.session_id)
            self._store(db, replace(session, usage=_more(session.usage, spent), cost=session.cost + cost))

    def _put_part(self, db: sqlite3.Connection, session_id: str, message_id: str, part: Part) -> None:
        found = db.execute("SELECT message_id, status, body FROM parts WHERE id = ?", (part.id,)).fetchone()
        if found is not None and found[0] != message_id:
            raise SessionError(f"part {part.id!r:.80} belongs to another message")
        status = part.status if isinstance(part, Call) else ""
        if isinstance(part, Call):
            before = found[1] if found else ""
            if status not in NEXT[before]:
                raise SessionError(f"call {part.call_id!r:.80} cannot be {status} after {before or 'nothing'}")
            if before in ("completed", "error"):
                old = self._read(found[2], Part)
                if not isinstance(old, Call) or replace(part, compacted=0) != replace(old, compacted=0):
                    raise SessionError(f"call {part.call_id!r:.80} has ended; only `compacted` can change")
        if found is None:
            sql = "INSERT INTO parts (id, message_id, session_id, status, body) VALUES (?, ?, ?, ?, ?)"
            db.execute(sql, (part.id, message_id, session_id, status, encoded(part)))
        else:
            db.execute("UPDATE parts SET status = ?, body = ? WHERE id = ?", (status, encoded(part), part.id))

    def _mend(self, db: sqlite3.Connection, session_id: str, now: int) -> Mended:
        calls, messages = [], []
        sql = "SELECT body FROM parts WHERE session_id = ? AND status IN ('pending', 'running') ORDER BY position"
        for (body,) in db.execute(sql, (session_id,)).fetchall():
            call = self._read(body, Part)
            if isinstance(call, Call):
                said = CUT_OFF if call.status == "running" else NEVER_RAN
                closed = replace(call, status="error", error=said, ended=now, interrupted=True)
                db.execute("UPDATE parts SET status = 'error', body = ? WHERE id = ?", (encoded(closed), call.id))
                calls.append(call.call_id)
        sql = "SELECT body FROM messages WHERE session_id = ? AND open ORDER BY position"
        for (body,) in db.execute(sql, (session_id,)).fetchall():
            cut = replace(self._read(body, Message), error=INTERRUPTED, aborted=True, completed=now)
            db.execute("UPDATE messages SET open = 0, body = ? WHERE id = ?", (encoded(cut), cut.id))
            messages.append(cut.id)
        return Mended(tuple(calls), tuple(messages))

    def _messages(self, where: str, values: tuple[Any, ...]) -> Iterator[Message]:
        with self._reading() as db:
            heads = db.execute(
                f"SELECT m.id, m.body FROM messages m WHERE {where} ORDER BY m.position", values
            ).fetchall()
            sql = f"""SELECT p.message_id, p.body FROM messages m JOIN parts p ON p.message_id = m.id
                WHERE {where} ORDER BY p.position"""
            parts: dict[str, list[Part]] = {}
            for id, body in db.execute(sql, values):
                parts.setdefault(id, []).append(self._read(body, Part))
        for id, body in heads:
            yield replace(self._read(body, Message), parts=tuple(parts.get(id, ())))

    def _touched(self, db: sqlite3.Connection, session_id: str, now: int, **changes: Any) -> Session:
        session = self._session(db, session_id)
        session = replace(session, updated=max(now, session.updated), **changes)
        self._store(db, session)
        return session

    def _session(self, db: sqlite3.Connection, session_id: str) -> Session:
        found = _row(db, "sessions", session_id)
        if found is None:
            raise _unknown("session", session_id)
        session: Session = self._read(found[1], Session)
        return session

    def _store(self, db: sqlite3.Connection, session: Session) -> None:
        values = (session.updated, encoded(session), session.id)
        db.execute("UPDATE sessions SET updated = ?, body = ? WHERE id = ?", values)

    def _read(self, body: bytes, kind: Any) -> Any:
        try:
            return msgspec.json.decode(body, type=kind)
        except msgspec.MsgspecError as error:
            finding = Finding("file", "", 0, f"{self.path}: a record cannot be read: {error}")
            raise StoreDamaged(finding.message, hint="Restore a copy of the file", finding=finding) from None

    @contextmanager
    def _writing(self, session_id: str = "") -> Iterator[sqlite3.Connection]:
        """One durable step: all of the block or nothing."""
        with self._lock:
            self._check_open()
            if not self._writes:
                raise StoreReadOnly(f"{self.path} was opened read-only", hint="Open it for writing")
            if session_id and session_id not in self._claims:
                if self.session(session_id) is None:
                    raise _unknown("session", session_id)
                raise SessionError(f"session {session_id!r:.80} is not claimed", hint="`resume` it first")
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield self._db
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")
                known = None
                if isinstance(error, Exception) and not isinstance(error, SessionError | StoreError | TypeError):
                    known = translate(error, self.path)
                if known is None:
                    raise
                raise known from error

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of the file, for as many statements as the block has."""
        with self._lock, typed(self.path):
            self._check_open()
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
    """Position and body of a row of a table of ours, by its id; of this session only, where one is given."""
    mine = " AND session_id = ?" if session_id else ""
    values = (id, session_id) if session_id else (id,)
    row = db.execute(f"SELECT position, body FROM {table} WHERE id = ?{mine}", values).fetchone()
    return None if row is None else (row[0], row[1])


def _unknown(what: str, id: str) -> SessionError:
    return SessionError(f"no {what} {id!r:.80}", hint=f"Take the id of a stored {what}")


def _more(one: Reported, two: Reported) -> Reported:
    """The sums of what was used; the total of a sum is that of its parts."""
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return Reported(None, *(getattr(one, name) + getattr(two, name) for name in names))


def _less(one: Reported, two: Reported) -> Reported:
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return Reported(None, *(getattr(one, name) - getattr(two, name) for name in names))
