"""What files were before tools changed them: kept beside the messages, so that a prompt can be taken back whole."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import msgspec

from hudkit.agent.records import StoredSession

MAX_CONTENT_BYTES = 2 * 1024 * 1024
"""Bytes of a file above which its content is not kept: what was changed in it is not taken back."""

_Transaction = Callable[[str], AbstractContextManager[sqlite3.Connection]]
"""One durable step of a claimed session."""


class _Asked(msgspec.Struct, frozen=True):
    """What is read of a session or a message here: for whose call it is."""

    asked_by: str = ""


class FileChange(msgspec.Struct, frozen=True):
    """One call's change of one file. Digests are SHA-256 in hex; an empty one means that there was no file."""

    session_id: str
    message_id: str
    call_id: str
    path: str
    before: str
    after: str
    mode: int = 0


class FileChanges:
    """What files were before tools changed them, so that a prompt can be taken back whole; a `SessionStore` makes it.

    A change is stored before the file is replaced, with the digests of both contents and the bytes of the old one,
    each content once. It goes when the message of its call is removed, and a content goes with the last change that
    needs it.
    """

    def __init__(
        self, writing: _Transaction, reading: Callable[[], AbstractContextManager[sqlite3.Connection]]
    ) -> None:
        self._writing = writing
        self._reading = reading

    def begin(self, change: FileChange, content: bytes | None, *, writer: str = "") -> int:
        """Note a change that is about to be made, with what is there now; return its number, for `drop`.

        `writer` is the locked session that writes it, where it is not the change's own.
        """
        values = msgspec.structs.astuple(change)
        with self._writing(writer or change.session_id) as db:
            # the change itself is noted in any case: an undo then says why it cannot put the file back
            if content is not None and len(content) <= MAX_CONTENT_BYTES:
                # sources shrink to a third; 6 is where more work gains little
                raw = zlib.compress(content, 6)
                db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (change.before, raw))
            sql = (
                "INSERT INTO changes (session_id, message_id, call_id, path, before, after, mode)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            return int(db.execute(sql, values).lastrowid or 0)

    def keep(self, session_id: str, content: bytes) -> None:
        """Keep what a file is before a change of it is taken back, so that it can be brought back; return nothing."""
        if len(content) > MAX_CONTENT_BYTES:
            return
        with self._writing(session_id) as db:
            values = (content_digest(content), zlib.compress(content, 6))
            db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", values)

    def drop(self, session_id: str, number: int) -> None:
        """Forget a change that was not made; return nothing."""
        with self._writing(session_id) as db:
            db.execute("DELETE FROM changes WHERE position = ?", (number,))

    def correct(self, change: FileChange, after: str) -> None:
        """Correct what a call's change left, after a plugin's hook has changed the file once more; return nothing."""
        with self._writing(change.session_id) as db:
            sql = "UPDATE changes SET after = ? WHERE session_id = ? AND message_id = ? AND call_id = ? AND path = ?"
            values = (after, change.session_id, change.message_id, change.call_id, change.path)
            db.execute(sql, values)

    def of_call(self, session_id: str, message_id: str, call_id: str) -> tuple[FileChange, ...]:
        """Return what one call changed."""
        where = "session_id = ? AND message_id = ? AND call_id = ?"
        return self._found(where, (session_id, message_id, call_id))

    def of_messages(self, session_id: str, messages: Iterable[str]) -> tuple[FileChange, ...]:
        """Return what these messages of a session changed, and what sub-agents did for them, oldest first."""
        wanted = set(messages)
        changes = [numbered for numbered in self._numbered(session_id) if numbered[1].message_id in wanted]
        for child, asked in self._below(session_id, wanted):
            changes += [numbered for numbered in self._numbered(child) if numbered[1].message_id in asked]
        return tuple(numbered for _, numbered in sorted(changes, key=lambda pair: pair[0]))

    def sub_sessions(self, session_id: str, messages: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the sub-sessions (ids) that worked for these messages (`None`: any), and those below them.

        Those above come first.
        """
        if messages is not None:
            return tuple(child for child, _ in self._below(session_id, set(messages)))
        sessions = below = [child.id for child in self._children(session_id)]
        while below:
            below = [child.id for parent_id in below for child in self._children(parent_id)]
            sessions = [*sessions, *below]
        return tuple(sessions)

    def askers(self, session_id: str) -> dict[str, str]:
        """Return for each message of a sub-session the response (id) of its parent whose call asked for it.

        A sub-agent that was called again works for the call that came last.
        """
        with self._reading() as db:
            own = db.execute("SELECT body FROM sessions WHERE id = ?", (session_id,)).fetchone()
            sql = "SELECT id, body FROM messages WHERE session_id = ? ORDER BY position"
            rows = db.execute(sql, (session_id,)).fetchall()
        asker = msgspec.json.decode(own[0], type=_Asked).asked_by if own is not None else ""
        askers = {}
        for id, body in rows:
            asker = msgspec.json.decode(body, type=_Asked).asked_by or asker
            askers[id] = asker
        return askers

    def content(self, digest: str) -> bytes | None:
        """Return the bytes of this digest; `None` where they were not kept."""
        with self._reading() as db:
            row = db.execute("SELECT raw FROM contents WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else zlib.decompress(row[0])

    def add_all(self, db: sqlite3.Connection, changes: Sequence[FileChange]) -> None:
        """Store changes that were noted before, in a transaction of the caller's; return nothing."""
        places = ", ".join("?" * len(FileChange.__struct_fields__))
        rows = [msgspec.structs.astuple(change) for change in changes]
        db.executemany(f"INSERT INTO changes ({_FIELDS}) VALUES ({places})", rows)

    def _below(self, session_id: str, wanted: set[str]) -> Iterator[tuple[str, set[str]]]:
        """Yield the sub-sessions that worked for these messages, the whole tree, with those messages of each."""
        for child in self._children(session_id):
            asked = {message for message, asker in self.askers(child.id).items() if asker in wanted}
            if asked or child.asked_by in wanted:
                yield child.id, asked
                yield from self._below(child.id, asked)

    def _children(self, session_id: str) -> list[StoredSession]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT body FROM sessions WHERE parent_id = ? ORDER BY position", (session_id,)
            ).fetchall()
        return [msgspec.json.decode(body, type=StoredSession) for (body,) in rows]

    def _numbered(self, session_id: str) -> list[tuple[int, FileChange]]:
        with self._reading() as db:
            sql = f"SELECT position, {_FIELDS} FROM changes WHERE session_id = ?"
            return [(row[0], FileChange(*row[1:])) for row in db.execute(sql, (session_id,))]

    def _found(self, where: str, values: tuple[str, ...]) -> tuple[FileChange, ...]:
        with self._reading() as db:
            rows = db.execute(f"SELECT {_FIELDS} FROM changes WHERE {where} ORDER BY position", values).fetchall()
        return tuple(FileChange(*row) for row in rows)


_FIELDS = ", ".join(FileChange.__struct_fields__)


def drop_unused_contents(db: sqlite3.Connection) -> None:
    """Let go of contents that no change needs any more, in the transaction that cut messages."""
    used = "SELECT before FROM changes UNION SELECT after FROM changes"
    db.execute(f"DELETE FROM contents WHERE digest NOT IN ({used})")


def content_digest(raw: bytes) -> str:
    """Return the digest by which a file's content is stored: SHA-256, in hex."""
    from hashlib import sha256  # who only reads the sessions digests no file

    return sha256(raw).hexdigest()
