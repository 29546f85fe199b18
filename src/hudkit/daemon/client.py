"""The daemon's client: sends requests to it, starts it on demand, stops it.

Beside the wire's structs it needs the standard library only, because a host's hook imports it at every call.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

import hudkit
from hudkit import paths
from hudkit.daemon import socket_path
from hudkit.errors import ConfigError
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, Hello, newer

START_SECONDS = 15.0
"""Seconds within which a daemon that was started must answer."""


class DaemonConnection(http.client.HTTPConnection):
    """HTTP over a unix socket, kept open between requests."""

    def __init__(self, path: Path, timeout: float = 5.0) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket. Raises `OSError`."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.fspath(self._path))

    def exchange(self, path: str, body: bytes | None = b"{}") -> tuple[int, bytes]:
        """Send one request and return status and body; without a body it is a GET.

        Raises `OSError` or `HTTPException`.
        """
        headers = {PROTOCOL_HEADER: str(PROTOCOL), VERSION_HEADER: hudkit.__version__}
        if body is not None:
            headers["content-type"] = "application/json"
        self.request("GET" if body is None else "POST", path, body, headers)
        answer = self.getresponse()
        return answer.status, answer.read()


def _send_request(path: Path, what: str, body: dict[str, Any], *, timeout: float = 5.0) -> tuple[int, Any]:
    """Send one request on a connection of its own, and return status and decoded body.

    Raises `OSError` or `HTTPException`.
    """
    connection = DaemonConnection(path, timeout)
    try:
        status, answer = connection.exchange(what, json.dumps(body).encode())
        return status, json.loads(answer)
    finally:
        connection.close()


def greet(path: Path, *, timeout: float = 2.0) -> Hello | None:
    """Return who listens on a socket; `None` where nobody does, or it is not our daemon."""
    connection = DaemonConnection(path, timeout)
    try:
        status, body = connection.exchange("/health", None)
        return msgspec.json.decode(body, type=Hello) if status == 200 else None
    except (OSError, http.client.HTTPException, msgspec.DecodeError):
        return None
    finally:
        connection.close()


def stop(path: Path, *, timeout: float = 5.0) -> bool:
    """Ask the daemon on a socket to end, and return whether there was one that agreed.

    Requests that it was asked before are answered first.
    """
    try:
        status, body = _send_request(path, "/v1/stop", {}, timeout=timeout)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return status == 200 and body == {"ok": True}


def is_gone(path: Path) -> bool:
    """Return whether no daemon holds a socket's lock, which it lets go of last: all its files are closed.

    One that was asked to stop gives up its socket first, so `greet` knows less.
    """
    lock = socket_path.acquire_lock(path)
    if lock is None:
        return False
    os.close(lock)
    return True


def ensure_running(path: Path | None = None, *, db: Path | None = None, idle: float | None = None) -> Hello:
    """Return the daemon on a socket, started where there is none; an older one is replaced by one of this version.

    `idle` is in minutes. Raises `ConfigError` where it does not start (its log file tells why) or speaks another
    protocol and is newer.
    """
    path = path or socket_path.socket_path()
    socket_path.prepare_directory(path)
    daemon = greet(path)
    if daemon is None or newer(hudkit.__version__, daemon.version):
        daemon = _start(path, db or paths.log_path(), idle)
    if daemon.protocol != PROTOCOL:
        hint = f"Version {hudkit.__version__} speaks protocol {PROTOCOL}: upgrade this client"
        raise ConfigError(f"the daemon on {path} speaks protocol {daemon.protocol}", hint=hint)
    return daemon


def _start(path: Path, db: Path, idle: float | None) -> Hello:
    """Start a daemon, and return it once it answers.

    Where several are started at once, the first to have the lock stays.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "hudkit.daemon",
        "--socket",
        os.fspath(path),
        "--db",
        os.fspath(db.absolute()),
    ]
    if idle is not None:
        command += ["--idle", str(idle)]
    # A session of its own, in the root directory: it outlives the host that asked, and keeps no directory busy. `-P`
    # keeps a project's own `hudkit` folder from being imported in its place.
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, cwd="/", start_new_session=True, close_fds=True
    )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        daemon = greet(path)
        if daemon is not None and not newer(hudkit.__version__, daemon.version):
            return daemon
        if started.poll() not in (None, 0):
            assert started.stderr is not None
            last_line = started.stderr.read(2_000).decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise ConfigError(f"the daemon did not start: {last_line or f'exit code {started.returncode}'}")
        time.sleep(0.02)
    raise ConfigError(f"no daemon answers on {path}", hint=f"See daemon.log beside {db}")
