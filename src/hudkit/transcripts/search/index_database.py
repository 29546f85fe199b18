"""The index of past sessions: its tables, its file, and how it is brought up to date.

`entries` holds one row a passage: what a message says, what a call was given and gave. `words` is the ranked index
over them (porter stems of `text`, and of `parts`: the words within identifiers). `vocabulary` holds each distinct
word once, and `spellings` its trigrams: that is how a fragment or a misspelt word finds the words that are there.
The file can be made again from the transcripts at any time: nothing is in it alone.

Writing goes a batch at a time, off every other path. Each session has a mark: the id of the last message that is
settled, which is to say that nothing will be added to it. An update reads from the mark on, writes a batch of settled
messages and moves the mark in the same transaction:

    mark m7; the transcript has m8, m9, m10, and m10 is still growing
    -> m8 and m9 are written, the mark is m9, and m10 is written behind the mark
    next update: what is behind the mark is taken out, m10 is read again, then whatever is new

So what is interrupted goes on from its mark, and two processes that index at once do each message once: the second
finds that the mark has moved and stops. Where the host has taken the marked message back, the session is read anew.
"""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple
from urllib.parse import quote

from hudkit.errors import StoreDamaged, StoreError, StoreTooNew, TranscriptError
from hudkit.log.stores.sqlite_files import check_private_path, create_private_file, into_wal, store_errors
from hudkit.transcripts.search.passages import identifier_words, passages
from hudkit.transcripts.transcript import Message, SessionRow, ToolPart, Transcript

APPLICATION_ID = 0x48554453
"""`PRAGMA application_id` of every index of ours (the letters HUDS)."""

VERSION = 1

TABLES = (
    """CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        host TEXT NOT NULL,
        id TEXT NOT NULL,
        parent TEXT NOT NULL,
        title TEXT NOT NULL,
        agent TEXT NOT NULL,
        model TEXT NOT NULL,
        directory TEXT NOT NULL,
        root TEXT NOT NULL,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        seen INTEGER NOT NULL DEFAULT -1,
        mark TEXT NOT NULL DEFAULT '',
        messages INTEGER NOT NULL DEFAULT 0,
        settled INTEGER NOT NULL DEFAULT 0,
        UNIQUE (host, id)
    )""",
    # `place` counts a session's messages from 1; `piece` the passages of one message
    """CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (key),
        place INTEGER NOT NULL,
        piece INTEGER NOT NULL,
        message TEXT NOT NULL,
        role TEXT NOT NULL,
        tool TEXT NOT NULL,
        time INTEGER NOT NULL,
        text TEXT NOT NULL,
        parts TEXT NOT NULL
    )""",
    "CREATE INDEX entries_in_order ON entries (session, place, piece)",
    """CREATE VIRTUAL TABLE words USING fts5 (
        text, parts, content = 'entries', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
    )""",
    "CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE)",
    """CREATE VIRTUAL TABLE spellings USING fts5 (
        word, content = 'vocabulary', content_rowid = 'id', tokenize = 'trigram'
    )""",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)


_SESSION_TEXTS = ("title", "agent", "model", "directory", "root")
"""Columns of a session that may hold what somebody wrote; a title often is the first prompt."""


def open_writer(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that writes; the file is made (0600, in a directory of one's own) where it is missing.

    Raises a `StoreError`: `StoreTooNew` for a newer version's file, `StoreDamaged` for what is not an index.
    """
    with store_errors(path):
        check_private_path(path, create=True)
        with suppress(FileExistsError):
            create_private_file(path)
        db = _connect(path, "rw", timeout)
        try:
            into_wal(db, timeout)
            db.execute("PRAGMA synchronous = NORMAL")  # what power takes away is read again from the transcripts
            db.execute("PRAGMA secure_delete = ON")
            # Under the write lock: two processes that open a new file make its tables once.
            db.execute("BEGIN IMMEDIATE")
            if _checked(db, path) == 0:
                for statement in TABLES:
                    db.execute(statement)
            db.execute("COMMIT")
            db.execute("INSERT INTO words (words, rank) VALUES ('automerge', 4)")
        except BaseException:
            db.close()
            raise
        return db


def open_reader(path: Path, timeout: float) -> sqlite3.Connection:
    """Return a connection that only reads. Raises a `StoreError`, and `TranscriptError` where nothing was read into
    the index yet: its file may be there before its tables are."""
    with store_errors(path):
        check_private_path(path, create=False)
        db = _connect(path, "ro", timeout)
        try:
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")  # one state for all that is looked at: a writer may be making it
            version = _checked(db, path)
            db.execute("COMMIT")
            if version == 0:
                raise nothing_read_yet()
            # a private scratch table: the stems of a question's words, by the same tokenizer
            db.execute("ATTACH ':memory:' AS scratch")
            db.execute("PRAGMA query_only = OFF")
            tokenize = "tokenize = 'porter unicode61 remove_diacritics 2'"
            db.execute(f"CREATE VIRTUAL TABLE scratch.stems USING fts5 (t, {tokenize})")
            db.execute("CREATE VIRTUAL TABLE scratch.stemmed USING fts5vocab (stems, instance)")
        except BaseException:
            db.close()
            raise
        return db


def _connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    uri = f"file://{quote(str(path.absolute()))}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA cache_size = -65536")
    return db


def _checked(db: sqlite3.Connection, path: Path) -> int:
    """The version of the file, 0 where it is empty."""
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if version > VERSION and ours:
        hint = "Use that version, or remove the file: it is made again from the transcripts"
        raise StoreTooNew(f"{path} was made by a newer version of hudkit ({version})", hint=hint, version=version)
    if (not ours or version < 1) and not empty:
        raise _foreign(path)
    return 0 if empty else version


def nothing_read_yet() -> TranscriptError:
    """Return the error for an index that is being made."""
    return TranscriptError("nothing is searchable yet", hint="It is being read: try again soon.")


def _foreign(path: Path) -> StoreDamaged:
    return StoreDamaged(f"{path} is not an index of hudkit", hint="Name another file, or remove this one")


BATCH_PASSAGES = 250
BATCH_CHARACTERS = 500_000
"""At which a batch is written: other writers wait no longer than for one."""

RECENT = 8
"""Sessions of a host that are looked at however old the host says that they are: it may tell late."""

_REMEMBERED = 300_000  # words of which it is known that they are in the vocabulary

_INSERT = """INSERT INTO entries (session, place, piece, message, role, tool, time, text, parts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id"""
_AFTER = "SELECT id, text, parts FROM entries WHERE session = ? AND place > ? ORDER BY id"


class IndexProgress(NamedTuple):
    """How far an update is: sessions done, sessions to do, messages read."""

    sessions: int
    of: int
    messages: int


class _ReadPosition(NamedTuple):
    key: int
    seen: int
    mark: str
    settled: int


_Entry = tuple[int, int, str, str, str, int, str, str]
"""Place, piece, message, role, tool, time, text, parts."""


class IndexWriter:
    """The writer of an index. Safe to use from several threads: one update at a time."""

    def __init__(self, path: Path, db: sqlite3.Connection) -> None:
        self.path = path
        self._db = db
        self._lock = threading.Lock()
        self._words: set[str] = set()

    @classmethod
    def open(cls, path: str | Path, *, busy_timeout: float = 5.0) -> IndexWriter:
        """Return the index at `path`, made where it is missing. Raises a `StoreError`."""
        place = Path(path).absolute()
        return cls(place, open_writer(place, busy_timeout))

    def update(
        self,
        transcripts: Sequence[Transcript],
        *,
        session_id: str = "",
        progress: Callable[[IndexProgress], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """Read what is new, of one session or of all, the newest sessions first; return how many messages were read.

        A transcript that cannot be read is passed over; it does not keep the others from being read. `stop` is asked
        between batches; what was read stays. Raises a `StoreError`.
        """
        with self._lock, store_errors(self.path):
            work = [item for source in transcripts for item in self._work(source, session_id)]
            # The newest first: that is what is asked for while a first indexing still runs.
            work.sort(key=lambda item: -item[1].updated)
            total = 0
            for done, (transcript, row) in enumerate(work):
                # A session with a message that is too large for this process does not keep the others waiting.
                with suppress(MemoryError):
                    for count in self._session(transcript, row):
                        total += count
                        progress(IndexProgress(done, len(work), total))
                        if stop():
                            return total
            progress(IndexProgress(len(work), len(work), total))
            return total

    def forget(self, host: str, session_id: str) -> None:
        """Take a session out of the index."""
        with self._lock, store_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            self._forget(host, session_id)
            self._db.execute("COMMIT")

    def redact(self, *secrets: str) -> int:
        """Take texts out of the index, physically, the longest first; return how many passages and
        titles held one.
        """
        with self._lock, store_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            count = 0
            for secret in sorted(secrets, key=len, reverse=True):
                rows = self._db.execute(
                    "SELECT id, text, parts FROM entries WHERE instr(text, ?) OR instr(parts, ?)", (secret, secret)
                ).fetchall()
                self._take_out(rows)
                for id, text, parts in rows:
                    text, parts = text.replace(secret, "[redacted]"), parts.replace(secret, "[redacted]")
                    self._db.execute("UPDATE entries SET text = ?, parts = ? WHERE id = ?", (text, parts, id))
                    self._db.execute("INSERT INTO words (rowid, text, parts) VALUES (?, ?, ?)", (id, text, parts))
                # A word of the secret could be found by its spelling alone.
                for part in _distinct_words(secret):
                    self._unlearn(part)
                count += len(rows)
                for column in _SESSION_TEXTS:
                    change = f"UPDATE sessions SET {column} = replace({column}, ?1, '[redacted]')"
                    count += self._db.execute(f"{change} WHERE instr({column}, ?1)", (secret,)).rowcount
            self._db.execute("COMMIT")
            self._words.clear()
            for table in ("words", "spellings"):  # the old segments hold the words until they are merged
                self._db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            self._db.execute("VACUUM")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return count

    def close(self) -> None:
        """Closing twice is harmless."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    # -- what is to be read ------------------------------------------------------------------------------------

    def _work(self, transcript: Transcript, session_id: str) -> Iterator[tuple[Transcript, SessionRow]]:
        try:
            if session_id:
                row = transcript.session(session_id)
                yield from () if row is None else ((transcript, row),)
                return
            rows = transcript.sessions()
        except TranscriptError:
            return
        seen = {host: self._seen(host) for host in {row.host for row in rows}}
        recent = {row.id for row in sorted(rows, key=lambda row: -row.updated)[:RECENT]}
        yield from (
            (transcript, row) for row in rows if row.id in recent or seen[row.host].get(row.id) != row.updated
        )

    def _seen(self, host: str) -> dict[str, int]:
        return dict(self._db.execute("SELECT id, seen FROM sessions WHERE host = ?", (host,)))

    # -- one session -------------------------------------------------------------------------------------------

    def _session(self, transcript: Transcript, row: SessionRow) -> Iterator[int]:
        """Read a session from its mark on; gives the number of messages after each batch."""
        position = self._enter_session(row)
        try:
            yield from self._read(transcript, row, position)
        except TranscriptError:
            if not position.mark:
                return
            position = self._restart(row)  # the mark is gone: reverted, or written anew
            try:
                yield from self._read(transcript, row, position)
            except TranscriptError:
                return

    def _read(self, transcript: Transcript, row: SessionRow, position: _ReadPosition) -> Iterator[int]:
        batch: list[Message] = []
        passed = size = 0
        held: Message | None = None  # the newest: only the next one, or its own end, shows that it is settled
        for message in transcript.messages(row.id, after=position.mark):
            if held is not None:
                batch.append(held)
                passed += len(held.parts)
                size += sum(len(getattr(part, "text", "") or getattr(part, "output", "")) for part in held.parts)
            held = message
            if passed >= BATCH_PASSAGES or size >= BATCH_CHARACTERS:
                written = self._write(row, position, batch, None)
                if written is None:
                    return
                position = written
                yield len(batch)
                batch, passed, size = [], 0, 0
        if held is not None and _is_settled(held):
            batch.append(held)
            held = None
        written = self._write(row, position, batch, held, end=True)
        if written is not None and written is not position:
            yield len(batch) + (held is not None)

    def _write(
        self,
        row: SessionRow,
        position: _ReadPosition,
        batch: Sequence[Message],
        held: Message | None,
        *,
        end: bool = False,
    ) -> _ReadPosition | None:
        """One transaction. The same mark where there was nothing to write, `None` where another process has gone on
        from it."""
        fresh = [
            entry for n, message in enumerate(batch, position.settled + 1) for entry in _message_entries(n, message)
        ]
        settled = position.settled + len(batch)
        growing = [] if held is None else list(_message_entries(settled + 1, held))
        db = self._db
        stale = db.execute(_AFTER, (position.key, position.settled)).fetchall()
        same = not batch and [text for _, text, _ in stale] == [entry[6] for entry in growing]
        seen = row.updated if end else position.seen
        if same and seen == position.seen:
            return position
        db.execute("BEGIN IMMEDIATE")
        try:
            stored = self._find(row)
            if stored is None or stored[:4] != position:
                db.execute("ROLLBACK")
                return None
            if not same:
                stale = db.execute(_AFTER, (position.key, position.settled)).fetchall()
                self._take_out(stale)
                db.executemany("DELETE FROM entries WHERE id = ?", [(id,) for id, _, _ in stale])
                self._put(position.key, (*fresh, *growing))
            mark = batch[-1].id if batch else position.mark
            db.execute(
                "UPDATE sessions SET mark = ?, settled = ?, messages = ?, seen = ? WHERE key = ?",
                (mark, settled, settled + (held is not None), seen, position.key),
            )
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return _ReadPosition(position.key, seen, mark, settled)

    def _put(self, key: int, entries: Sequence[_Entry]) -> None:
        db = self._db
        for entry in entries:
            (id,) = db.execute(_INSERT, (key, *entry)).fetchone()
            db.execute("INSERT INTO words (rowid, text, parts) VALUES (?, ?, ?)", (id, entry[6], entry[7]))
            self._learn(_distinct_words(entry[6]))

    def _learn(self, words_met: set[str]) -> None:
        new = words_met - self._words
        if not new:
            return
        # Forgetting costs a query a word, never a wrong answer.
        if len(self._words) > _REMEMBERED:
            self._words.clear()
        self._words |= new
        for word in new:
            row = self._db.execute(
                "INSERT INTO vocabulary (word) VALUES (?) ON CONFLICT DO NOTHING RETURNING id", (word,)
            ).fetchone()
            if row is not None:
                self._db.execute("INSERT INTO spellings (rowid, word) VALUES (?, ?)", (row[0], word))

    def _unlearn(self, part: str) -> None:
        """Take out the words with this part; those that are still said somewhere are learnt again when met again."""
        for id, word in self._db.execute("SELECT id, word FROM vocabulary WHERE instr(word, ?)", (part,)).fetchall():
            self._db.execute("INSERT INTO spellings (spellings, rowid, word) VALUES ('delete', ?, ?)", (id, word))
            self._db.execute("DELETE FROM vocabulary WHERE id = ?", (id,))

    def _take_out(self, rows: Sequence[tuple[int, str, str]]) -> None:
        sql = "INSERT INTO words (words, rowid, text, parts) VALUES ('delete', ?, ?, ?)"
        self._db.executemany(sql, rows)

    # -- the table of sessions ---------------------------------------------------------------------------------

    def _find(self, row: SessionRow) -> tuple[int, int, str, int] | None:
        sql = "SELECT key, seen, mark, settled FROM sessions WHERE host = ? AND id = ?"
        position: tuple[int, int, str, int] | None = self._db.execute(sql, (row.host, row.id)).fetchone()
        return position

    def _enter_session(self, row: SessionRow) -> _ReadPosition:
        """The session's row, with what the host now says of it."""
        facts = (row.parent_id, row.title, row.agent, row.model, row.directory, row.root, row.created, row.updated)
        sql = "SELECT parent, title, agent, model, directory, root, created, updated FROM sessions"
        held = self._db.execute(f"{sql} WHERE host = ? AND id = ?", (row.host, row.id)).fetchone()
        if held != facts:
            self._db.execute(
                """INSERT INTO sessions (host, id, parent, title, agent, model, directory, root, created, updated)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (host, id) DO UPDATE SET parent = excluded.parent,
                title = excluded.title, agent = excluded.agent, model = excluded.model,
                directory = excluded.directory, root = excluded.root, created = excluded.created,
                updated = excluded.updated""",
                (row.host, row.id, *facts),
            )
        position = self._find(row)
        if position is None:
            raise StoreError(f"session {row.id!r:.80} is not in the index", hint="Try again")
        return _ReadPosition(*position)

    def _restart(self, row: SessionRow) -> _ReadPosition:
        self._db.execute("BEGIN IMMEDIATE")
        self._forget(row.host, row.id)
        self._db.execute("COMMIT")
        return self._enter_session(row)

    def _forget(self, host: str, session_id: str) -> None:
        row = self._db.execute("SELECT key FROM sessions WHERE host = ? AND id = ?", (host, session_id)).fetchone()
        if row is not None:
            self._take_out(self._db.execute(_AFTER, (row[0], 0)).fetchall())
            self._db.execute("DELETE FROM entries WHERE session = ?", row)
            self._db.execute("DELETE FROM sessions WHERE key = ?", row)


def _message_entries(place: int, message: Message) -> Iterator[_Entry]:
    for piece, passage in enumerate(passages(message)):
        yield (
            place,
            piece,
            message.id,
            passage.role,
            passage.tool,
            message.created,
            passage.text,
            identifier_words(passage.text),
        )


def _is_settled(message: Message) -> bool:
    """Nothing will be added to the message. Of a user's, only what follows it tells."""
    if message.role != "assistant" or not (message.completed or message.error):
        return False
    return all(part.done for part in message.parts if isinstance(part, ToolPart))


_WORD = re.compile(r"[^\W_]{3,40}")


def _distinct_words(text: str) -> set[str]:
    """Return the distinct words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))
