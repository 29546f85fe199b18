"""The tables of the index, its file, and the connections to it.

`entries` holds one row a passage: what a message says, what a call was given and gave. `words` is the ranked index
over them (porter stems of `text`, and of `parts`: the words within identifiers). `vocabulary` holds each distinct
word once, and `spellings` its trigrams: that is how a fragment or a misspelt word finds the words that are there.
The file can be made again from the transcripts at any time: nothing is in it alone.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from hudkit.errors import StoreDamaged, StoreTooNew
from hudkit.log.stores.sqlite_files import check_private_path, create_private_file, store_errors

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
            db.execute("PRAGMA journal_mode = WAL")
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
    """Return a connection that only reads. Raises a `StoreError`, also where there is no index yet."""
    with store_errors(path):
        check_private_path(path, create=False)
        db = _connect(path, "ro", timeout)
        try:
            db.execute("PRAGMA query_only = ON")
            if _checked(db, path) == 0:
                raise _foreign(path)
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


def _foreign(path: Path) -> StoreDamaged:
    return StoreDamaged(f"{path} is not an index of hudkit", hint="Name another file, or remove this one")
