"""Where the daemon is reached: its socket in a directory that is the user's alone, and the lock beside it."""

from __future__ import annotations

import fcntl
import os
import socket as sockets
import stat
import struct
import sys
from contextlib import closing, suppress
from pathlib import Path

from hudkit.errors import ConfigError, StoreUnsafe
from hudkit.paths import data_directory, spare_name

MAX_SOCKET = 100
"""Bytes of a socket's path: the limits are 104 (macOS) and 108 (Linux), with the NUL at the end."""


def socket_path() -> Path:
    """Return where hosts reach the daemon.

    `HUDKIT_SOCKET`; else below `XDG_RUNTIME_DIR` where that is private and no other data directory is named; else
    beside the data where its path is short enough for a socket and can be written; else in a directory of the user's
    among the temporary files, in `/tmp` where `TMPDIR` makes that too long. Raises `ConfigError` where the path that
    `HUDKIT_SOCKET` names is too long for a socket.
    """
    named = os.environ.get("HUDKIT_SOCKET")
    if named:
        return _short(Path(named).absolute())
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    # Another data directory means another log, so it must not share the socket of the default one.
    if runtime and not os.environ.get("HUDKIT_DATA") and _private(Path(runtime)):
        in_runtime = Path(runtime) / "hudkit" / "daemon.sock"
        if _is_short(in_runtime):
            return in_runtime
    beside = data_directory() / "run" / "daemon.sock"
    if _is_short(beside) and _can_be_written(beside.parent):
        return beside
    import tempfile  # slow to import, and rarely needed

    among_temporary = Path(f"hudkit-{os.geteuid()}", spare_name(beside))
    spare = Path(tempfile.gettempdir()) / among_temporary
    return spare if _is_short(spare) else Path("/tmp") / among_temporary


def prepare_directory(socket: Path) -> None:
    """Make the socket's directory (mode 0700), and check that it is the user's own and nobody else can enter it.

    Raises `StoreUnsafe` for a symbolic link, another user's directory, or one that others can enter or write;
    `ConfigError` where the path is too long for a socket, or is not in a directory.
    """
    _short(socket)
    directory = socket.parent
    try:
        info = directory.lstat()
    except FileNotFoundError:
        directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
        info = directory.lstat()
        # `mkdir` is subject to the umask, and somebody else may have been first: only our own is corrected.
        if info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode):
            directory.chmod(0o700)
            info = directory.lstat()
    if stat.S_ISLNK(info.st_mode):
        raise StoreUnsafe(f"{directory} is a symbolic link", hint="Name the real directory with --socket")
    if not stat.S_ISDIR(info.st_mode):
        raise ConfigError(f"{directory} is not a directory", hint="Name a socket in a directory")
    if info.st_uid != os.geteuid():
        hint = "Name a socket in a directory of your own"
        raise StoreUnsafe(f"{directory} belongs to user {info.st_uid}, not to {os.geteuid()}", hint=hint)
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise StoreUnsafe(f"{directory} can be entered by others", hint=f"chmod 700 {directory}")


def acquire_lock(socket: Path) -> int | None:
    """Return the lock beside a socket, as an open file that holds it; `None` where another process has it.

    The lock names the process that has it. The file is never removed: a process that waits for it and one that made
    it anew would each lock a different one.
    """
    fd = os.open(_lock_path(socket), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with suppress(OSError):  # a full disk: then nobody is sure who has it
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except BlockingIOError:
        os.close(fd)
        return None
    except BaseException:
        os.close(fd)
        raise
    return fd


def lock_holder(socket: Path) -> int | None:
    """Return the process that holds the lock and listens on the socket; `None` where that is not certain.

    Two witnesses must agree: the lock, which its holder wrote into, and the system, which knows who listens.
    """
    try:
        written = _lock_path(socket).read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    listening = listening_process(socket)
    return listening if listening is not None and written == str(listening) else None


def listening_process(socket: Path) -> int | None:
    """Return the process that listens on a socket, also where it does not answer; `None` where nobody does, or it is
    another user's, or the system does not tell."""
    with closing(sockets.socket(sockets.AF_UNIX, sockets.SOCK_STREAM)) as connection:
        connection.setblocking(False)
        try:
            connection.connect(os.fspath(socket))
            return _peer(connection)
        except (OSError, struct.error):
            return None


def _peer(connection: sockets.socket) -> int | None:
    system: str = sys.platform
    if system == "linux":
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(sockets.SOL_SOCKET, sockets.SO_PEERCRED, 12))
        return int(pid) if uid == os.geteuid() and pid > 0 else None
    if system == "darwin":  # LOCAL_PEERCRED, struct xucred; LOCAL_PEERPID
        uid = struct.unpack_from("2I", connection.getsockopt(0, 1, 76))[1]
        return int(connection.getsockopt(0, 2)) if uid == os.geteuid() else None
    return None


def start_failure(socket: Path) -> Path:
    """Return the file in which a daemon that could not start leaves the reason, beside its socket."""
    return socket.with_name(f"{socket.name}.failed")


def _lock_path(socket: Path) -> Path:
    return socket.with_name(socket.name + ".lock")


def remove_stale(socket: Path) -> None:
    """Remove the socket that a daemon left when it died. Call it only while holding the lock.

    Raises `StoreUnsafe` where the name belongs to something that is not a socket.
    """
    try:
        info = socket.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        raise StoreUnsafe(f"{socket} is not a socket", hint="Move it away, or name another socket with --socket")
    socket.unlink()


def _can_be_written(directory: Path) -> bool:
    there = next(path for path in (directory, *directory.parents) if os.path.lexists(path))
    return os.access(there, os.W_OK)


def _is_short(path: Path) -> bool:
    return len(os.fsencode(path)) <= MAX_SOCKET


def _short(path: Path) -> Path:
    if not _is_short(path):
        hint = (
            f"The path of a socket has at most {MAX_SOCKET} bytes; name a shorter one with --socket or HUDKIT_SOCKET"
        )
        raise ConfigError(f"{path} is too long for a socket", hint=hint)
    return path


def _private(directory: Path) -> bool:
    try:
        info = directory.lstat()
    except OSError:
        return False
    mine = stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid()
    return mine and not stat.S_IMODE(info.st_mode) & 0o077
