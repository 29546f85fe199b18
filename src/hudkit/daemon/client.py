"""The way to the daemon from Python: ask it, start it on demand, stop it. Needs nothing but the standard library."""

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
from hudkit.daemon import place
from hudkit.errors import ConfigError
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER, Hello, newer

START_SECONDS = 15.0
"""Within which a daemon that was started must answer."""


class Connection(http.client.HTTPConnection):
    """HTTP over a unix socket; kept open between requests."""

    def __init__(self, path: Path, timeout: float = 5.0) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(os.fspath(self._path))

    def ask(self, path: str, body: bytes | None = b"{}") -> tuple[int, bytes]:
        """Status and body of one request; without a body it is a GET. Raises `OSError` or `HTTPException`."""
        headers = {PROTOCOL_HEADER: str(PROTOCOL), VERSION_HEADER: hudkit.__version__}
        if body is not None:
            headers["content-type"] = "application/json"
        self.request("GET" if body is None else "POST", path, body, headers)
        answer = self.getresponse()
        return answer.status, answer.read()


def ask(path: Path, what: str, body: dict[str, Any], *, timeout: float = 5.0) -> tuple[int, Any]:
    """One request on a connection of its own: status and decoded body. Raises `OSError` or `HTTPException`."""
    connection = Connection(path, timeout)
    try:
        status, answer = connection.ask(what, json.dumps(body).encode())
        return status, json.loads(answer)
    finally:
        connection.close()


def greet(path: Path, *, timeout: float = 2.0) -> Hello | None:
    """Who listens on a socket; `None` where nobody does, or it is no daemon of ours."""
    connection = Connection(path, timeout)
    try:
        status, body = connection.ask("/health", None)
        return msgspec.json.decode(body, type=Hello) if status == 200 else None
    except (OSError, http.client.HTTPException, msgspec.DecodeError):
        return None
    finally:
        connection.close()


def stop(path: Path, *, timeout: float = 5.0) -> bool:
    """Ask the daemon on a socket to end; whether there was one that agreed. What it was asked before is answered."""
    try:
        status, body = ask(path, "/v1/stop", {}, timeout=timeout)
    except (OSError, http.client.HTTPException, ValueError):
        return False
    return status == 200 and body == {"ok": True}


def ensure_running(path: Path | None = None, *, db: Path | None = None, idle: float | None = None) -> Hello:
    """The daemon on a socket, started where there is none; an older one is replaced by one of this version.

    Raises `ConfigError` where it does not start (its log file tells why) or speaks another protocol and is newer.
    """
    path = path or place.socket_path()
    place.prepare(path)
    there = greet(path)
    if there is None or newer(hudkit.__version__, there.version):
        there = _start(path, db or paths.log_path(), idle)
    if there.protocol != PROTOCOL:
        hint = f"Version {hudkit.__version__} speaks protocol {PROTOCOL}: upgrade this client"
        raise ConfigError(f"the daemon on {path} speaks protocol {there.protocol}", hint=hint)
    return there


def _start(path: Path, db: Path, idle: float | None) -> Hello:
    """Start a daemon of its own; where several start one at once, the first to have the lock stays."""
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
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, cwd="/", start_new_session=True, close_fds=True
    )
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        there = greet(path)
        if there is not None and not newer(hudkit.__version__, there.version):
            return there
        if started.poll() not in (None, 0):
            assert started.stderr is not None
            said = started.stderr.read(2_000).decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise ConfigError(f"the daemon did not start: {said or f'exit code {started.returncode}'}")
        time.sleep(0.02)
    raise ConfigError(f"no daemon answers on {path}", hint=f"See daemon.log beside {db}")
