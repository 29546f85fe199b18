"""What files were before tools changed them, kept beside the messages so that a prompt can be taken back whole.

A change is stored before the file is replaced, with the digests of both contents and the bytes of the old one, each
content once. It goes when the message of its call is cut, and a content goes with the last change that needs it.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from hashlib import sha256

import msgspec

from hudkit.agent.records import Session

MOST_CONTENT = 2 * 1024 * 1024
"""Bytes of a file above which its content is not kept: what was changed in it is not taken back."""

Step = Callable[[str], AbstractContextManager[sqlite3.Connection]]
"""One durable step of a claimed session."""


class Change(msgspec.Struct, frozen=True):
    """One call's change of one file. Digests are SHA-256 in hex; an empty one means that there was no file."""

    session_id: str
    message_id: str
    call_id: str
    path: str
    before: str
    after: str
    mode: int = 0


class Changes:
    """The changes of all sessions of a file of sessions; its `SessionStore` makes it."""

    def __init__(self, writing: Step, reading: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._writing = writing
        self._reading = reading

    def begin(self, change: Change, content: bytes | None) -> int:
        """Note a change that is about to be made, with what is there now; its number, for `drop`."""
        values = msgspec.structs.astuple(change)
        with self._writing(change.session_id) as db:
            if content is not None and len(content) <= MOST_CONTENT:
                raw = zlib.compress(content, 6)
                db.execute("INSERT OR IGNORE INTO contents VALUES (?, ?)", (change.before, raw))
            sql = (
                "INSERT INTO changes (session_id, message_id, call_id, path, before, after, mode)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
            )
            return int(db.execute(sql, values).lastrowid or 0)

    def drop(self, session_id: str, number: int) -> None:
        """Forget a change that was not made."""
        with self._writing(session_id) as db:
            db.execute("DELETE FROM changes WHERE position = ?", (number,))

    def left(self, change: Change, after: str) -> None:
        """Correct what a call's change left: a plugin's hook has changed the file once more."""
        with self._writing(change.session_id) as db:
            sql = "UPDATE changes SET after = ? WHERE session_id = ? AND message_id = ? AND call_id = ? AND path = ?"
            values = (after, change.session_id, change.message_id, change.call_id, change.path)
            db.execute(sql, values)

    def of_call(self, session_id: str, message_id: str, call_id: str) -> tuple[Change, ...]:
        """What one call changed."""
        where = "session_id = ? AND message_id = ? AND call_id = ?"
        return self._found(where, (session_id, message_id, call_id))

    def of(self, session_id: str, messages: Iterable[str]) -> tuple[Change, ...]:
        """What these messages of a session changed, and the sub-sessions that they started, oldest first."""
        wanted = set(messages)
        found = [change for change in self._numbered(session_id) if change[1].message_id in wanted]
        below = self._started(session_id, wanted)
        while below:
            child = below.pop()
            found += self._numbered(child)
            below += self._started(child, None)
        return tuple(change for _, change in sorted(found, key=lambda pair: pair[0]))

    def started(self, session_id: str, messages: Iterable[str]) -> tuple[str, ...]:
        """The sub-sessions (ids) that these messages started, and those below them."""
        found = below = self._started(session_id, set(messages))
        while below:
            below = [one for child in below for one in self._started(child, None)]
            found = [*found, *below]
        return tuple(found)

    def content(self, digest: str) -> bytes | None:
        """The bytes of this digest; `None` where they were not kept."""
        with self._reading() as db:
            row = db.execute("SELECT raw FROM contents WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else zlib.decompress(row[0])

    def _started(self, session_id: str, messages: set[str] | None) -> list[str]:
        with self._reading() as db:
            rows = db.execute(
                "SELECT body FROM sessions WHERE parent_id = ? ORDER BY position", (session_id,)
            ).fetchall()
        children = [msgspec.json.decode(body, type=Session) for (body,) in rows]
        return [one.id for one in children if messages is None or one.asked_by in messages]

    def _numbered(self, session_id: str) -> list[tuple[int, Change]]:
        with self._reading() as db:
            sql = f"SELECT position, {_FIELDS} FROM changes WHERE session_id = ?"
            return [(row[0], Change(*row[1:])) for row in db.execute(sql, (session_id,))]

    def _found(self, where: str, values: tuple[str, ...]) -> tuple[Change, ...]:
        with self._reading() as db:
            rows = db.execute(f"SELECT {_FIELDS} FROM changes WHERE {where} ORDER BY position", values).fetchall()
        return tuple(Change(*row) for row in rows)


_FIELDS = ", ".join(Change.__struct_fields__)


def sweep(db: sqlite3.Connection) -> None:
    """Let go of contents that no change needs any more; a part of the step that cut messages."""
    db.execute("DELETE FROM contents WHERE NOT EXISTS (SELECT 1 FROM changes WHERE before = digest)")


def digest_of(raw: bytes) -> str:
    return sha256(raw).hexdigest()
