"""The rules of saved projections in every store: what may be kept, how many, and the digest that guards one."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b

from hudkit.errors import StoreError
from hudkit.log import Snapshot
from hudkit.log.stores.rows import damaged
from hudkit.log.stores.scan import missing

KEEP = 3
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
    """32 bytes over a snapshot and the chain up to its event: after a lost or edited tail it no longer fits."""
    head = f"{snapshot.session_id}\0{snapshot.seq}\0{snapshot.version}\0".encode()
    return blake2b(link + head + snapshot.body, digest_size=32).digest()


def put(db: sqlite3.Connection, snapshot: Snapshot) -> None:
    """Keep a snapshot in the tables; inside a write transaction. Raises `StoreError` where it has no such event.

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
        raise damaged(missing(snapshot.session_id, snapshot.seq))
    guard = snapshot_digest(snapshot, link[0])
    db.execute("DELETE FROM snapshots WHERE session_id = ? AND version = ? AND seq > ?", (*about, last))
    db.execute(
        "INSERT OR REPLACE INTO snapshots (session_id, version, seq, body, digest) VALUES (?, ?, ?, ?, ?)",
        (*about, snapshot.seq, snapshot.body, guard),
    )
    db.execute(
        "DELETE FROM snapshots WHERE session_id = ?1 AND version = ?2 AND key NOT IN"
        " (SELECT key FROM snapshots WHERE session_id = ?1 AND version = ?2 ORDER BY seq DESC LIMIT ?3)",
        (*about, KEEP),
    )


def get(db: sqlite3.Connection, session_id: str, version: str, upto: int) -> Snapshot | None:
    """The newest snapshot with `seq <= upto` whose digest verifies; a damaged one is passed over."""
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
