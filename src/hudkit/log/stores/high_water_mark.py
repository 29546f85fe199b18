"""The high-water mark beside a database: how far the log had come, in a file that outlives a write-ahead log cut
short.

SQLite drops the rest of a write-ahead log from the first bad frame on without a word: acknowledged events can be
gone, and what is left is a valid, shorter log with a valid, shorter hash chain. The mark remembers the last commit
in 512 bytes (one disk sector) with their own checksum:

    mark: position 120, session s, event 7, its link
    database opens with 118 events            -> 2 acknowledged events are lost: recorded, and `verify` names them
    event 120 is there with another link      -> another event took its place: recorded likewise
    mark is older than the database           -> fine: the mark is written after each commit, and a crash came between

It is written at each commit, synced within a second and at each checkpoint: until a checkpoint the write-ahead log
itself holds what the mark would tell. Of a commit that did not wait for the disk it is written once that is synced:
the mark tells what was promised.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock, Timer
from typing import NamedTuple

from hudkit.errors import StoreBusy, StoreError, StoreUnsafe
from hudkit.lazy import blake2b

SYNC_SECONDS = 0.8
"""Longest time for which a written mark stays unsynced (a second, less what a sync takes)."""

_FORM = struct.Struct(">8sQQ32sH")
_MAGIC = b"hudmark1"
_SIZE = 512
_SUM = 32
_POLL_SECONDS = 0.002
sync_file = getattr(os, "fdatasync", os.fsync)
"""Makes what was written to an open file durable."""


class HighWaterMark(NamedTuple):
    """The last commit: the global position of its last event, and the session, number and link of that event."""

    position: int
    session_id: str
    seq: int
    link: bytes


def _encode_mark(mark: HighWaterMark) -> bytes:
    """Return the 512 bytes of a mark."""
    name = mark.session_id.encode()
    body = (_FORM.pack(_MAGIC, mark.position, mark.seq, mark.link, len(name)) + name).ljust(_SIZE - _SUM, b"\0")
    return body + blake2b(body, digest_size=_SUM).digest()


def _decode_mark(block: bytes) -> HighWaterMark | None:
    """Return the mark in 512 bytes; `None` where they are not one."""
    body = block[: _SIZE - _SUM]
    if len(block) != _SIZE or blake2b(body, digest_size=_SUM).digest() != block[_SIZE - _SUM :]:
        return None
    magic, position, seq, link, size = _FORM.unpack_from(body)
    if magic != _MAGIC:
        return None
    return HighWaterMark(position, body[_FORM.size : _FORM.size + size].decode("utf-8", "replace"), seq, link)


class SyncTimer:
    """Calls a function `SYNC_SECONDS` after it was first asked to, once for all who asked meanwhile."""

    def __init__(self, sync: Callable[[], None]) -> None:
        self._sync = sync
        self._timer: Timer | None = None

    def start(self) -> None:
        """Have it called in time; at once, where no thread can be started."""
        if self._timer is not None:
            return
        timer = Timer(SYNC_SECONDS, self._call)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # while the interpreter ends
            self._sync()
        else:
            self._timer = timer

    def cancel(self) -> None:
        """Have it called no more."""
        timer = self._timer
        if timer is not None:
            timer.cancel()

    def _call(self) -> None:
        self._timer = None  # before the call: what is written from now on gets a timer of its own
        with suppress(OSError, StoreError):  # what is written next is synced with all before it
            self._sync()


class HighWaterMarkFile:
    """The open file of a mark: the lock that orders writers' marks, and the timer that syncs the last one in time."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open, and unless `read_only` make, the file. Raises `OSError` and `StoreUnsafe`."""
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        self._path = path
        # `O_NOFOLLOW`: nobody may lead the writes to another file by a link.
        self._fd = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if not stat.S_ISREG(os.fstat(self._fd).st_mode):
            os.close(self._fd)
            raise StoreUnsafe(f"{path} is not a file", hint="Remove it")
        if not read_only:
            os.fchmod(self._fd, 0o600)
        self._guard = Lock()
        self._timer = SyncTimer(self.sync)
        self._unsynced = False

    def read(self, timeout: float) -> HighWaterMark | bytes:
        """Return the mark, or the bytes that are not one (none where no event was ever written)."""
        self._lock(fcntl.LOCK_SH, timeout)
        try:
            return self.peek()
        finally:
            self.unlock()

    def peek(self) -> HighWaterMark | bytes:
        """Return what `read` does, for a caller that holds the writers' lock."""
        block = os.pread(self._fd, _SIZE + 1, 0)
        # A loss of power may leave a file with its size and without what was written: zeros are no mark yet.
        return _decode_mark(block) or (block if block.strip(b"\0") else b"")

    def lock(self, timeout: float) -> None:
        """Take the writers' lock, inside a write transaction. Raises `StoreBusy` after `timeout` seconds."""
        self._lock(fcntl.LOCK_EX, timeout)

    def unlock(self) -> None:
        """Give the lock back."""
        if self._fd >= 0:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def write(self, mark: HighWaterMark) -> None:
        """Write the mark; call it under `lock`, after the commit. It is synced within `SYNC_SECONDS`."""
        os.pwrite(self._fd, _encode_mark(mark), 0)
        self._unsynced = True
        self._timer.start()

    def sync(self) -> None:
        """Make the mark durable now."""
        with self._guard:
            if self._fd >= 0 and self._unsynced:
                self._unsynced = False
                sync_file(self._fd)

    def close(self) -> None:
        """Sync what was written and close; closing twice is harmless."""
        self._timer.cancel()
        try:
            self.sync()
        finally:
            with self._guard:
                if self._fd >= 0:
                    os.close(self._fd)
                    self._fd = -1

    def _lock(self, how: int, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while True:
            try:
                # Not blocking: a lock that waits for ever could not keep the time-out.
                fcntl.flock(self._fd, how | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreBusy(
                        f"{self._path}: another process holds the lock on the high-water mark",
                        hint="Try again, or raise `busy_timeout`",
                    ) from None
                time.sleep(_POLL_SECONDS)
