"""Who may write a session: one process at a time, by a lock that the system takes back when that process ends.

Each session that is being written has a file in `NAME.claims` beside the database, named by a digest of its id (an id
may hold anything) and locked with `flock`. Releasing removes the file first and closes it then; who gets a lock
checks that the file of this name is still the one that it has locked, and begins again where it is not:

    A: unlink f, close        B: open f (the old one), lock it -> the name leads elsewhere -> open anew
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from hudkit.errors import SessionError, StoreUnsafe
from hudkit.log.stores.sqlite_files import companion_path, store_errors


class SessionLocks:
    """The sessions of one database that this process may write."""

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
