"""What `--fix` does: permissions of what is surely ours, a socket left behind, an older daemon. Nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import hudkit
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.cli.checks.self_checks import OTHERS, listened_to, missing_for_daemon, private_files
from hudkit.daemon import client, socket_path
from hudkit.errors import HudkitError
from hudkit.hosts.wire import newer
from hudkit.paths import OWN_FILES, default_data_directory

_OURS = (*dict.fromkeys(kind.pattern.partition("/")[0] for kind in OWN_FILES), "*.sock", "*.sock.lock")
"""What hudkit puts into directories of its own; one that holds anything else is not ours to change."""


def apply_fixes(here: CheckEnvironment) -> tuple[str, ...]:
    """Mend what can be mended safely. Never raises.

    Returns what was done, and what was left and why, one line each.
    """
    lines: list[str] = []
    for step in _STEPS:
        try:
            lines += step(here)
        except (HudkitError, OSError) as error:
            lines.append(f"left as it is: {error}")
    return tuple(lines)


def _fix_directories(here: CheckEnvironment) -> Iterator[str]:
    for path in dict.fromkeys(_private_directories(here)):
        try:
            yield from _directory(path)
        except OSError as error:
            yield f"left {path} as it is: {error.strerror}"


def _fix_files(here: CheckEnvironment) -> Iterator[str]:
    for path in private_files(here):
        try:
            yield from _file(path)
        except OSError as error:
            yield f"left {path} as it is: {error.strerror}"


def _fix_socket(here: CheckEnvironment) -> Iterator[str]:
    """Remove a socket that nobody listens on; close one that others can use. Only under the daemons' own lock, or
    with one listening."""
    path = here.socket
    if path is None or not _is_socket(path):
        return
    if listened_to(path):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & OTHERS and path.lstat().st_uid == os.geteuid():
            path.chmod(0o600)
            yield f"{path}: mode {mode:o} is now 600"
        return
    socket_path.prepare_directory(path)
    held = socket_path.acquire_lock(path)
    if held is None:
        yield f"left {path} as it is: a daemon is starting or ending"
        return
    try:
        if _is_socket(path) and not listened_to(path):
            socket_path.remove_stale(path)
            yield f"removed {path}: nobody listened on it"
    finally:
        os.close(held)


def _fix_daemon(here: CheckEnvironment) -> Iterator[str]:
    """Replace a daemon of an older version by one of this version, which ends the older one itself."""
    there = client.greet(here.socket) if here.socket is not None and _is_socket(here.socket) else None
    if there is None or here.socket is None or not newer(hudkit.__version__, there.version):
        return
    missing = missing_for_daemon()
    if missing:
        yield f"left the daemon of version {there.version} as it is: a new one would need {', '.join(missing)}"
        return
    now = client.ensure_running(here.socket, db=here.db)
    yield f"replaced the daemon of version {there.version} (process {there.pid}) by {now.version} (process {now.pid})"


_STEPS: tuple[Callable[[CheckEnvironment], Iterator[str]], ...] = (
    _fix_directories,
    _fix_files,
    _fix_socket,
    _fix_daemon,
)
"""In this order: a file can be trusted once its directory is private."""


def _directory(path: Path) -> Iterator[str]:
    """A directory is changed only where it is the user's, real, and holds nothing that is not ours."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or mode == 0o700:
        return
    if not mode & OTHERS and mode & 0o700 == 0o700:
        return
    if not os.access(path, os.R_OK) or not _is_ours(path):
        yield f"left {path} (mode {mode:o}) as it is: it may hold more than what is hudkit's"
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
    yield f"{path}: mode {mode:o} is now 700"


def _file(path: Path) -> Iterator[str]:
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return
    if not mode & OTHERS and mode & 0o600 == 0o600:
        return
    if mode & 0o400:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchmod(fd, 0o600)
        finally:
            os.close(fd)
    else:  # it cannot be opened; its directory was looked at before
        path.chmod(0o600)
    yield f"{path}: mode {mode:o} is now 600"


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.lstat().st_mode)
    except OSError:
        return False


def _private_directories(here: CheckEnvironment) -> tuple[Path, ...]:
    """The data directory, and that of the socket; whether they are there or not."""
    return (here.data,) if here.socket is None else (here.data, here.socket.parent)


def _is_ours(directory: Path) -> bool:
    """Whether a directory is hudkit's by its name, or holds nothing but what hudkit puts there.

    An empty one with another name may be anybody's.
    """
    if directory == default_data_directory():
        return True
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries]
    if not names:
        return directory.name == "hudkit"
    return all(any(fnmatchcase(name, form) for form in _OURS) for name in names)
