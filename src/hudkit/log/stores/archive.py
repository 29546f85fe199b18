"""Bodies of old events, compressed by chunks: the events stay where they are, with digests and links; a body that is
not in its row is in a chunk of its session. Inside a transaction that somebody else opens and commits."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

CHUNK = 256
"""Events of one chunk: one is unpacked to read any of them."""

MOST_BYTES = 256 * 1024 * 1024
"""Bytes of a chunk's bodies; what is unpacked to more is damaged."""

_LEVEL = 9
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[int, bytes]).decode

_NEXT = """
    SELECT seq, body FROM events
    WHERE session_id = ? AND seq > ? AND seq < ? AND body IS NOT NULL AND type != 'redact' ORDER BY seq LIMIT ?
"""
_COVERING = "SELECT body FROM archive WHERE session_id = ? AND first <= ? AND last >= ? ORDER BY key"


class Moved(NamedTuple):
    """What was moved: events, the bytes of their bodies and of the chunks; `last` is the last event, 0: no more."""

    events: int = 0
    bytes: int = 0
    packed: int = 0
    last: int = 0


def pack(db: sqlite3.Connection, session_id: str, after: int, below: int) -> Moved:
    """Move the bodies of the next events with `after < seq < below` into one chunk."""
    rows = db.execute(_NEXT, (session_id, after, below, CHUNK)).fetchall()
    bodies = {seq: body for seq, body in rows if type(body) is bytes}
    if not bodies:
        return Moved(last=rows[-1][0] if rows else 0)
    chunk = zlib.compress(_encode(bodies), _LEVEL)
    first, last = min(bodies), max(bodies)
    db.execute(
        "INSERT INTO archive (session_id, first, last, body) VALUES (?, ?, ?, ?)", (session_id, first, last, chunk)
    )
    db.executemany(
        "UPDATE events SET body = NULL WHERE session_id = ? AND seq = ?", [(session_id, seq) for seq in bodies]
    )
    return Moved(len(bodies), sum(map(len, bodies.values())), len(chunk), last)


def unpack(db: sqlite3.Connection, session_id: str) -> Moved:
    """Put the bodies of one chunk back into their events and remove it. Raises `ValueError` for a damaged chunk."""
    row = db.execute("SELECT key, body FROM archive WHERE session_id = ? LIMIT 1", (session_id,)).fetchone()
    if row is None:
        return Moved()
    bodies = opened(row[1])
    if bodies is None:
        raise ValueError(f"archived events of session {session_id} cannot be unpacked")
    db.executemany(
        "UPDATE events SET body = ? WHERE session_id = ? AND seq = ? AND body IS NULL",
        [(body, session_id, seq) for seq, body in bodies.items()],
    )
    db.execute("DELETE FROM archive WHERE key = ?", row[:1])
    return Moved(len(bodies), sum(map(len, bodies.values())), len(row[1]), max(bodies, default=0))


def erase(db: sqlite3.Connection, session_id: str, seq: int) -> None:
    """Take one event's body out of the chunk that holds it; a chunk that cannot be opened is left to `verify`."""
    sql = "SELECT key, body FROM archive WHERE session_id = ? AND first <= ? AND last >= ?"
    for key, chunk in db.execute(sql, (session_id, seq, seq)).fetchall():
        bodies = opened(chunk)
        if bodies is not None and bodies.pop(seq, None) is not None:
            db.execute("UPDATE archive SET body = ? WHERE key = ?", (zlib.compress(_encode(bodies), _LEVEL), key))


def opened(chunk: object) -> dict[int, bytes] | None:
    """The bodies of a chunk by sequence number; `None` where it is damaged."""
    if type(chunk) is not bytes:
        return None
    try:
        packed = zlib.decompressobj()
        raw = packed.decompress(chunk, MOST_BYTES)
        return _decode(raw) if packed.eof else None
    except (zlib.error, msgspec.MsgspecError, MemoryError, RecursionError):
        return None


class Unpacked:
    """Bodies of archived events as they are asked for; the last chunk of each session stays open."""

    def __init__(self, fetch: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]) -> None:
        self._fetch = fetch
        self._open: dict[str, dict[int, bytes]] = {}

    def body(self, session_id: str, seq: int) -> bytes | None:
        """The body of an event; `None` where no chunk that can be opened has it."""
        known = self._open.get(session_id)
        if known is None or seq not in known:
            for (chunk,) in self._fetch(_COVERING, (session_id, seq, seq)):
                bodies = opened(chunk)
                if bodies is not None and seq in bodies:
                    known = self._open[session_id] = bodies
                    break
            else:
                return None
        return known[seq]
