"""A daemon that hangs is replaced, one that cannot start says why, and versions that are one apart talk."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hudkit.daemon import socket_path
from hudkit.daemon.client import DaemonConnection, ensure_running, greet
from hudkit.errors import ConfigError
from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER, VERSION_HEADER
from waiting import PATIENCE, until

pytestmark = pytest.mark.slow

IMPATIENT = """
from hudkit.daemon import lifecycle
lifecycle.HANGS_SECONDS, lifecycle._GREETING_SECONDS, lifecycle.WAIT_SECONDS = 0.5, 0.2, 3.0
"""
NOTE = {"router": "hud", "arguments": {"tool": "notes.add", "args": {"content": "before it hung"}}}


def test_a_daemon_that_hangs_is_killed_and_replaced(daemon: Any) -> None:
    hanging = daemon.start()
    assert daemon.ask("/v1/tool", **NOTE)["ok"]
    assert socket_path.lock_holder(daemon.socket) == hanging.pid
    os.kill(hanging.pid, signal.SIGSTOP)
    fresh = daemon.start(before=IMPATIENT)
    assert hanging.wait() == -signal.SIGKILL
    assert socket_path.lock_holder(daemon.socket) == fresh.pid
    assert "before it hung" in daemon.ask("/v1/frame", transcript=[{"anchor": "user:1:", "role": "user"}])["base"]


def test_a_daemon_that_answers_is_left_alone(running: Any) -> None:
    before = greet(running.socket)
    command = [sys.executable, "-c", f"{IMPATIENT}\nlifecycle.main()"]
    done = subprocess.run(
        [*command, "--socket", running.socket, "--db", running.db], capture_output=True, text=True, timeout=60
    )
    assert "listens on" in done.stdout and greet(running.socket) is not None
    assert before is not None and before.pid == running.processes[0].pid


def test_what_only_has_the_lock_or_only_listens_is_not_killed(daemon: Any) -> None:
    """Who has the lock and who listens must be the same process."""
    socket_path.prepare_directory(daemon.socket)
    lock = socket_path.acquire_lock(daemon.socket)
    assert lock is not None
    try:
        assert socket_path.lock_holder(daemon.socket) is None, "it is starting: nobody listens"
        with closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(str(daemon.socket))
            listener.listen()
            assert socket_path.lock_holder(daemon.socket) == os.getpid()
            Path(f"{daemon.socket}.lock").write_text("1\n")
            assert socket_path.lock_holder(daemon.socket) is None, "another process listens"
            command = [sys.executable, "-c", f"import sys\n{IMPATIENT}\nsys.exit(lifecycle.main())"]
            options = ["--socket", daemon.socket, "--db", daemon.db]
            done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)
    finally:
        os.close(lock)
    assert done.returncode == 2 and "does not answer" in done.stderr
    failure = socket_path.start_failure(daemon.socket)
    assert "does not answer" in failure.read_text() and failure.stat().st_mode & 0o077 == 0
    daemon.socket.unlink()
    daemon.start()
    assert not failure.exists(), "one that starts takes the reason away"


@pytest.mark.skipif(sys.platform != "linux", reason="/sys is Linux's")
def test_a_home_that_cannot_be_written_is_served_from_memory_with_a_line_that_says_so(daemon: Any) -> None:
    daemon.db = Path("/sys/hudkit/hudkit.db")
    daemon.start()
    said = daemon.ask("/v1/tool", **NOTE)
    assert said["ok"] and "kept in memory only (read-only)" in said["text"]
    frame = daemon.ask("/v1/frame", transcript=[{"anchor": "user:1:", "role": "user"}])
    assert "before it hung" in frame["base"] and "kept in memory only" in frame["tail"]
    step = [{"anchor": "user:1:", "role": "user"}, {"anchor": "assistant:2:c", "role": "tool"}]
    assert daemon.ask("/v1/frame", transcript=step)["tail"] == "", "within a turn it would move at every call"
    daemon.db = daemon.socket.parent.parent / "data" / "hudkit.db"


# -- versions ----------------------------------------------------------------------------------------------------


def spoken(daemon: Any, path: str, protocol: int, body: bytes) -> tuple[int, str | None, bytes]:
    connection = DaemonConnection(daemon.socket, 20)
    with closing(connection):
        headers = {PROTOCOL_HEADER: str(protocol), VERSION_HEADER: "0.0.1", "content-type": "application/json"}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader(PROTOCOL_HEADER), answer.read()


@pytest.mark.parametrize("path", ["/v1/frame", "/v1/hello", "/v1/events"])
def test_the_protocol_before_is_answered_in_its_own_version(running: Any, path: str) -> None:
    body = b'{"host":"opencode","session":"s","directory":"/tmp"}'
    for protocol in (PROTOCOL, PROTOCOL - 1):
        status, theirs, answer = spoken(running, path, protocol, body)
        assert (status, theirs) == (200, str(protocol)), answer
    if path != "/v1/hello":
        for protocol in (PROTOCOL - 2, PROTOCOL + 1):
            assert spoken(running, path, protocol, body)[:2] == (426, str(PROTOCOL))


OCCUPIED = """
import time
from pathlib import Path
from hudkit.daemon.handlers import RequestHandlers
answering = RequestHandlers.answer
def answer(handlers, path, body):
    if path == "/v1/tool":
        Path("PLACE/busy").touch()
        while not Path("PLACE/go").exists(): time.sleep(0.01)
    return answering(handlers, path, body)
RequestHandlers.answer = answer
"""


def test_a_greeting_is_answered_by_who_answers_frames(daemon: Any, tmp_path: Path) -> None:
    """`/health` tells that the process lives, a greeting that it can give a frame."""
    daemon.start(before=OCCUPIED.replace("PLACE", str(tmp_path)))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(daemon.ask, "/v1/tool", **NOTE)
        until(lambda: (tmp_path / "busy").exists())
        try:
            with pytest.raises(TimeoutError):
                DaemonConnection(daemon.socket, 0.3).exchange("/v1/hello")
            assert greet(daemon.socket) is not None
        finally:
            (tmp_path / "go").touch()
        assert asked.result()["ok"]
    assert DaemonConnection(daemon.socket, PATIENCE).exchange("/v1/hello")[0] == 200


def test_why_none_starts_is_raised_for_who_asked(daemon: Any) -> None:
    daemon.db.parent.mkdir(parents=True)
    daemon.db.mkdir()
    with pytest.raises(ConfigError, match="did not start"):
        ensure_running(daemon.socket, db=daemon.db, idle=1)
    until(lambda: socket_path.start_failure(daemon.socket).exists())
