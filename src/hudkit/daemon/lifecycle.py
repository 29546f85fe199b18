"""The daemon's life: its options and exit codes, and being the only one on its socket.

`hudkit serve` and a client that starts it come here. What it does while it lives is in `http_server`, which is
imported once the socket's lock is held: who finds another daemon there pays for none of it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

import hudkit
from hudkit import paths
from hudkit.config import Settings
from hudkit.daemon import socket_path
from hudkit.daemon.client import greet, stop
from hudkit.daemon.options import daemon_arguments
from hudkit.errors import ConfigError, HudkitError
from hudkit.hosts.wire import newer

WAIT_SECONDS = 15.0
"""Seconds within which another daemon on the same socket must answer or end."""

HANGS_SECONDS = 10.0
"""Seconds after which one that accepts connections and answers nothing is ended by force."""

_GREETING_SECONDS = 2.0


class DaemonOptions(msgspec.Struct, frozen=True):
    """How a daemon runs: `idle` is in minutes, 0 is never; `port` adds a port on loopback TCP at `host`."""

    socket: Path
    db: Path
    idle: float = 30.0
    port: int | None = None
    host: str = "127.0.0.1"
    settings: Settings = Settings()


def serve(options: DaemonOptions, report: Callable[[str], None] = lambda _: None) -> None:
    """Serve until stopped or idle.

    `report` is called with a line when it listens, and when a daemon of this version or newer does so already, which
    ends the call. Raises `ConfigError`, and a `StoreError` where the socket's directory or the log cannot be used.
    """
    address = ""
    if options.port is not None:
        from hudkit.web.page_guard import loopback_address

        address = loopback_address(options.host)
    # Whatever the daemon makes from here on (socket, log, index, token) is its user's alone.
    os.umask(0o077)
    socket_path.prepare_directory(options.socket)
    lock = _exclusive_lock(options.socket, report)
    if lock is None:
        return
    try:
        socket_path.remove_stale(options.socket)
        socket_path.start_failure(options.socket).unlink(missing_ok=True)
        from hudkit.daemon.http_server import serve_requests

        while serve_requests(
            options.socket,
            options.db,
            options.settings,
            idle_minutes=options.idle,
            port=options.port,
            address=address,
            report=report,
        ):
            report("another log took the place of the one that was open")
    finally:
        os.close(lock)


def _exclusive_lock(path: Path, report: Callable[[str], None]) -> int | None:
    """Return the socket's lock, once the daemon that had it is gone; `None` where that one stays.

    A daemon of an older version is asked to end, once; one of this version or newer stays. One that hangs is killed:
    what it was asked and did not answer, its hosts ask again.
    """
    until = time.monotonic() + WAIT_SECONDS
    silent_since = time.monotonic()
    asked = 0
    while True:
        lock = socket_path.acquire_lock(path)
        if lock is not None:
            return lock
        other = greet(path, timeout=_GREETING_SECONDS)
        if other is not None:
            silent_since = time.monotonic()
        elif time.monotonic() - silent_since > HANGS_SECONDS:
            _kill_hanging(path, report)
            silent_since = time.monotonic()
        if other is not None and not newer(hudkit.__version__, other.version):
            report(f"a daemon of version {other.version} listens on {path} already (process {other.pid})")
            return None
        if other is not None and other.pid != asked:
            # Once for each process: a daemon that ends takes the time that its requests take.
            asked = other.pid
            stop(path)
        if time.monotonic() > until:
            hint = "It may hang: end it, or name another --socket"
            raise ConfigError(f"another daemon holds {path} and does not answer", hint=hint)
        time.sleep(0.05)


def _kill_hanging(path: Path, report: Callable[[str], None]) -> None:
    """End the daemon that listens on a socket and answers nothing, where it is surely that: its lock names it too."""
    hanging = socket_path.lock_holder(path)
    if hanging is None or hanging == os.getpid():
        return
    report(f"process {hanging} listens on {path} and gave no answer for {HANGS_SECONDS:.0f} seconds: it was killed")
    with suppress(ProcessLookupError):
        os.kill(hanging, signal.SIGKILL)


def run(args: argparse.Namespace, settings: Settings) -> int:
    """Serve as the options say, and return the exit code. Raises a `HudkitError` where it cannot."""
    idle = settings.daemon.idle_minutes if args.idle is None else args.idle
    if idle < 0 or idle != idle:
        raise ConfigError(f"--idle {idle} is not a time", hint="Give minutes, or 0 for never")
    if args.port is None and args.host != "127.0.0.1":
        from hudkit.web.page_guard import loopback_address

        loopback_address(args.host)
    path = args.socket.absolute() if args.socket else socket_path.socket_path()
    db = args.db.absolute() if args.db else paths.log_path()
    serve(DaemonOptions(path, db, idle, args.port, args.host, settings), _say)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Run `python -m hudkit.daemon`, which a client starts, and return the exit code.

    It prints one line of error at most, which the client reads. A host's plugin, which does not hold on to it, finds
    the line in a file beside the socket.
    """
    from hudkit.config import load

    parser = argparse.ArgumentParser(prog="hudkit.daemon")
    daemon_arguments(parser)
    parser.add_argument("--detach", action="store_true", help="return at once, and go on in the background")
    args = parser.parse_args(argv)
    if args.detach and not _goes_on():
        return 0
    try:
        return run(args, load(paths.config_path()).settings)
    except HudkitError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename or 'the socket'}: {error.strerror}"
    print(reason, file=sys.stderr)
    with suppress(OSError, HudkitError):
        _write_reason(args.socket.absolute() if args.socket else socket_path.socket_path(), reason)
    return 2


def _goes_on() -> bool:
    """Leave the process that started this one: return false in what it waits for, and true in what goes on."""
    if os.fork():
        return False
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    os.chdir("/")
    return True


def _write_reason(path: Path, reason: str) -> None:
    """Write why the daemon did not start into `SOCKET.failed`, which only its user can read."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(socket_path.start_failure(path), flags, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{reason}\n")


def _say(line: str) -> None:
    print(line, flush=True)
