"""Real daemons: processes of their own on sockets of their own, ended after each test."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hudkit.api import Hud
from hudkit.daemon.client import DaemonConnection, greet
from hudkit.daemon.handlers import RequestHandlers
from waiting import PATIENCE, is_alive, until


class Daemon:
    """A daemon's place, and the way to it."""

    def __init__(self, root: Path) -> None:
        self.socket = root / "run" / "d.sock"
        self.db = root / "data" / "hudkit.db"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *more: str, version: str | None = None, before: str = "") -> subprocess.Popen[bytes]:
        """Start one and wait until it answers; `before` is code that its process runs first."""
        code = f"{before}\nimport sys, hudkit; "
        code += f"hudkit.__version__ = {version!r}; " if version else ""
        code += "from hudkit.daemon.lifecycle import main; sys.exit(main())"
        options = ["--socket", str(self.socket), "--db", str(self.db), "--idle", "5", *more]
        process = subprocess.Popen(
            [sys.executable, "-c", code, *options], stderr=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.processes.append(process)
        end = time.monotonic() + PATIENCE
        while (there := greet(self.socket)) is None or there.pid != process.pid:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < end, "it does not answer"
            time.sleep(0.02)
        return process

    def ask(self, path: str, **body: Any) -> dict[str, Any]:
        """What a request is answered with; it has to succeed."""
        status, answer = self.asked(path, **body)
        assert status == 200, answer
        return answer

    def asked(self, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        identity = {"host": "opencode", "session": "ses_1", "directory": "/tmp"}
        return self.sent(path, msgspec.json.encode({**identity, **body}))

    def index_processes(self) -> list[int]:
        """The index processes that the daemon's log names, in order."""
        log = self.db.parent / "daemon.log"
        return (
            [int(pid) for pid in re.findall(r"index process (\d+) started", log.read_text())] if log.exists() else []
        )

    def sent(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and answer of a body as it is."""
        connection = DaemonConnection(self.socket, 20)
        with contextlib.closing(connection):
            status, answer = connection.exchange(path, body)
        return status, msgspec.json.decode(answer)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    root = Path(tempfile.mkdtemp(prefix="hk"))
    one = Daemon(root)
    yield one
    there = greet(one.socket, timeout=1) if one.socket.exists() else None
    if there is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(there.pid, signal.SIGKILL)
    for process in one.processes:
        process.kill()
        process.communicate()
    for pid in one.index_processes():
        until(lambda pid=pid: not is_alive(pid), "an index process outlives its daemon")
    shutil.rmtree(root)


@pytest.fixture
def running(daemon: Daemon) -> Daemon:
    daemon.start()
    return daemon


@pytest.fixture
def hud() -> Hud:
    return Hud.in_memory()


@pytest.fixture
def answering(hud: Hud) -> RequestHandlers:
    return RequestHandlers(hud)
