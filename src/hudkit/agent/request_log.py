"""Every request that a session sent, kept so that each can be built again byte for byte.

What plugins did to a request cannot be done again, so requests are recorded and not computed. A request is cut into
blocks: its head (system prompt, tools, settings) and one block a message. Each block is stored once, by its digest,
and a request is stored as how many messages it shares with the one before, and the digests of the others:

    request 1:  head h, messages a b        ->  (h, shared 0, fresh a b)
    request 2:  head h, messages a b c d    ->  (h, shared 2, fresh c d)
    request 3:  head h, messages a e        ->  (h, shared 1, fresh e)        after a compaction, say

So a session of n requests costs about what its transcript costs, and not n times as much. Headers are left out: they
hold keys.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from hudkit.errors import StoreDamaged, StoreError
from hudkit.log import Finding
from hudkit.log.redaction import SecretText, remove_from_json
from hudkit.log.stores.migrations import Schema, check_definitions, check_version, migrate
from hudkit.log.stores.sqlite_files import (
    OpenFiles,
    check_private_path,
    connect_reader,
    connect_writer,
    create_private_file,
    shrink_database,
    store_errors,
    used_bytes,
)
from hudkit.models import CompletionRequest, Message, RequestSettings, ToolSpec

REQUESTS_FILE = "requests.db"
"""The name of the file in hudkit's data directory, beside that of the sessions."""

_APPLICATION_ID = 0x48554452
"""`PRAGMA application_id` of every file of requests (the letters HUDR)."""

REQUESTS_SCHEMA = Schema(
    _APPLICATION_ID,
    (
        (
            f"PRAGMA application_id = {_APPLICATION_ID}",
            "CREATE TABLE IF NOT EXISTS blocks (digest BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID",
            """CREATE TABLE IF NOT EXISTS requests (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL,
        message_id TEXT NOT NULL,
        model TEXT NOT NULL,
        at INTEGER NOT NULL,
        body BLOB NOT NULL
    )""",
            "CREATE INDEX IF NOT EXISTS requests_of_session ON requests (session_id, position)",
        ),
    ),
    "holds no requests of hudkit",
    "Name another file",
    keeps_copy=False,
    was_unmarked=True,
)
"""What `migrations` needs to know of a file of requests."""


def _open_writer(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that writes to a file of requests, of this release's schema.

    Raises what SQLite and the system raise, and a `StoreError` where the file is not ours or was altered.
    """
    if path.stat().st_size:  # a newer or a foreign file stays as it is: look before anything is written
        with closing(connect_reader(path, timeout)) as probe:
            check_version(probe, path, REQUESTS_SCHEMA)
    db = connect_writer(path, timeout)
    try:
        migrate(db, path, REQUESTS_SCHEMA)
        check_definitions(db, path, REQUESTS_SCHEMA)
    except BaseException:
        db.close()
        raise
    return db


class _RequestRow(msgspec.Struct, array_like=True):
    """How a request is stored: `head` is the digest of all but the messages.

    The first `shared` messages are those of the request before it; `fresh` are the digests of the others.
    """

    head: bytes
    shared: int
    fresh: list[bytes]


class _RequestHead(msgspec.Struct):
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    settings: RequestSettings


class LoggedRequest(msgspec.Struct, frozen=True):
    """A request as it went out for the response `message_id`, at `sent_at` (Unix ms)."""

    session_id: str
    message_id: str
    model: str
    sent_at: int = msgspec.field(name="at")  # whoever writes one as JSON keeps the old key
    request: CompletionRequest


class RequestLog:
    """The requests of all sessions of one file. Calls are synchronous; a request is durable before it is sent."""

    def __init__(self, path: Path, *, busy_timeout: float = 5.0) -> None:
        """Open the file at `path`, which is made where it is missing. Raises a `StoreError`."""
        self.path = path.absolute()
        self._lock = threading.Lock()
        self._last: dict[str, list[bytes]] = {}
        with store_errors(self.path):
            check_private_path(self.path, create=True)
            with suppress(FileExistsError):
                create_private_file(self.path)
            self._files = OpenFiles(self.path)
            self._db = _open_writer(self.path, busy_timeout)

    def add(self, session_id: str, message_id: str, model: str, sent_at: int, request: CompletionRequest) -> None:
        """Keep a request that goes out at `sent_at` (Unix ms); return nothing.

        Raises a `StoreError`, and nothing of it is written then.
        """
        bare = msgspec.structs.replace(request.settings, headers={})
        blocks = [
            _encode_block(_RequestHead(request.system, request.tools, bare)),
            *map(_encode_block, request.messages),
        ]
        head, *digests = [blake2b(block, digest_size=20).digest() for block in blocks]
        with self._lock, store_errors(self.path):
            # the digests of the request before are kept: a step reads nothing
            before = self._last.get(session_id)
            if before is None:
                before = self._digests_of_last(session_id)
            shared = 0
            # within an epoch nearly all messages are shared
            while shared < min(len(before), len(digests)) and before[shared] == digests[shared]:
                shared += 1
            rows = [(head, blocks[0]), *zip(digests[shared:], blocks[1 + shared :], strict=True)]
            body = msgspec.msgpack.encode(_RequestRow(head, shared, digests[shared:]))
            self._files.check(self._db)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                # the same block is stored once, whatever session it is of
                self._db.executemany("INSERT OR IGNORE INTO blocks VALUES (?, ?)", rows)
                self._db.execute(
                    "INSERT INTO requests (session_id, message_id, model, at, body) VALUES (?, ?, ?, ?, ?)",
                    (session_id, message_id, model, sent_at, body),
                )
                self._db.execute("COMMIT")
                self._files.check(self._db)
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
            # only now: a request that was not stored must not be built upon
            self._last[session_id] = digests

    def requests(self, session_id: str) -> Iterator[LoggedRequest]:
        """Yield every request of a session in order, built again. Raises `StoreDamaged` where a block is missing."""
        messages: list[bytes] = []
        for message_id, model, sent_at, body in self._rows(session_id):
            row = msgspec.msgpack.decode(body, type=_RequestRow)
            messages = [*messages[: row.shared], *row.fresh]
            head: _RequestHead = self._block(row.head, _RequestHead)
            request_messages = tuple(self._block(digest, Message) for digest in messages)
            yield LoggedRequest(
                session_id,
                message_id,
                model,
                sent_at,
                CompletionRequest(head.system, request_messages, head.tools, head.settings),
            )

    def close(self) -> None:
        """Close the file; return nothing."""
        with self._lock:
            self._db.close()

    def _rows(self, session_id: str) -> list[tuple[str, str, int, bytes]]:
        sql = "SELECT message_id, model, at, body FROM requests WHERE session_id = ? ORDER BY position"
        with self._lock, store_errors(self.path):
            return self._db.execute(sql, (session_id,)).fetchall()

    def _block(self, digest: bytes, kind: Any) -> Any:
        with self._lock, store_errors(self.path):
            row = self._db.execute("SELECT body FROM blocks WHERE digest = ?", (digest,)).fetchone()
        # a block that was changed by hand would give a request that was never sent
        if row is None or blake2b(row[0], digest_size=20).digest() != digest:
            finding = Finding("file", "", 0, f"{self.path}: a block of a request is missing or changed")
            raise StoreDamaged(finding.message, hint="Restore a copy of the file", finding=finding)
        return msgspec.json.decode(row[0], type=kind)

    def _digests_of_last(self, session_id: str) -> list[bytes]:
        digests: list[bytes] = []
        sql = "SELECT body FROM requests WHERE session_id = ? ORDER BY position"
        for (body,) in self._db.execute(sql, (session_id,)):
            row = msgspec.msgpack.decode(body, type=_RequestRow)
            digests = [*digests[: row.shared], *row.fresh]
        return digests


def redact_requests(path: Path, wanted: Sequence[SecretText], *, busy_timeout: float = 5.0) -> int:
    """Take texts out of a file of requests, physically; return how many blocks held one.

    A block is named by its digest, so each gets its new name wherever a request uses it: the requests can be built
    again as before, without the texts.

    Raises a `StoreError`, and nothing is changed then.
    """
    renamed: dict[bytes, bytes] = {}
    with store_errors(path):
        check_private_path(path, create=False)
        db = _open_writer(path, busy_timeout)
        try:
            db.execute("BEGIN IMMEDIATE")
            for digest, body in db.execute("SELECT digest, body FROM blocks").fetchall():
                clean = remove_from_json(body, wanted)
                if clean is not body:
                    renamed[digest] = blake2b(clean, digest_size=20).digest()
                    db.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?)", (renamed[digest], clean))
                    db.execute("DELETE FROM blocks WHERE digest = ?", (digest,))
            for position, body in db.execute("SELECT position, body FROM requests").fetchall() if renamed else ():
                row = msgspec.msgpack.decode(body, type=_RequestRow)
                fresh = [renamed.get(digest, digest) for digest in row.fresh]
                changed = msgspec.msgpack.encode(_RequestRow(renamed.get(row.head, row.head), row.shared, fresh))
                if changed != body:
                    db.execute("UPDATE requests SET body = ? WHERE position = ?", (changed, position))
            db.execute("COMMIT")
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            db.close()
    return len(renamed)


def delete_requests(path: Path, sessions: Iterable[str], *, busy_timeout: float = 5.0) -> int:
    """Delete the requests of sessions, with the blocks that no other needs; return the bytes that are still in use.

    Raises a `StoreError`, and nothing is changed then.
    """
    ids = tuple(sessions)
    with store_errors(path):
        check_private_path(path, create=False)
        db = _open_writer(path, busy_timeout)
        try:
            db.execute("BEGIN IMMEDIATE")
            gone = sum(db.execute("DELETE FROM requests WHERE session_id = ?", (id,)).rowcount for id in ids)
            if gone:
                needed: set[bytes] = set()
                for (body,) in db.execute("SELECT body FROM requests"):
                    row = msgspec.msgpack.decode(body, type=_RequestRow)
                    needed.update((row.head, *row.fresh))
                every = {digest for (digest,) in db.execute("SELECT digest FROM blocks")}
                unused = [(digest,) for digest in every - needed]
                db.executemany("DELETE FROM blocks WHERE digest = ?", unused)
            db.execute("COMMIT")
            if gone:
                shrink_database(db)
            return used_bytes(db)
        finally:
            db.close()


def _encode_block(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, UnicodeEncodeError) as error:  # options of a plugin's own kind; lone surrogates
        raise StoreError(f"a request cannot be kept: {error}", hint="Plugins may set plain data only") from error
