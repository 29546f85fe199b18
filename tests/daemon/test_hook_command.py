"""`hudkit hook`: a host's hook as a command of its own, whatever the daemon does."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hudkit.daemon.client import greet, stop
from hudkit.daemon.socket_path import acquire_lock
from waiting import PATIENCE, until

SESSION = "5e551000-0000-4000-8000-000000000002"

pytestmark = pytest.mark.slow

Hook = Callable[..., str]


@pytest.fixture
def hook(daemon: Any) -> Hook:
    """Runs the command and returns what it prints; it must end well and say nothing on the error stream."""

    def run(event: str, host: str = "codex", *, said: bytes | None = None, **fields: Any) -> str:
        payload = {"hook_event_name": event, "session_id": SESSION, "cwd": "/tmp", **fields}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hudkit", "hook", host],
            input=json.dumps(payload).encode() if said is None else said,
            env={**os.environ, "HUDKIT_SOCKET": str(daemon.socket), "HUDKIT_DB": str(daemon.db)},
            capture_output=True,
            timeout=PATIENCE,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    return run


@contextmanager
def listening(path: Path, answer: bytes | None) -> Iterator[list[bytes]]:
    """Something on the daemon's socket that answers so, or (`None`) not at all; gives what it was asked."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    asked: list[bytes] = []
    held: list[socket.socket] = []
    lock = acquire_lock(path)  # nobody takes its place
    assert lock is not None
    os.ftruncate(lock, 0)  # it names no process: this one must not be ended
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                asked.append(connection.recv(65536))
                held.append(connection)
                if answer is not None:
                    connection.sendall(answer)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield asked
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE)
    for connection in held:
        connection.close()
    path.unlink()
    os.close(lock)


def test_a_hook_is_answered_in_the_hosts_words_and_nothing_new_is_silence(running: Any, hook: Hook) -> None:
    told = json.loads(hook("SessionStart", source="startup"))
    assert list(told) == ["hookSpecificOutput"]
    assert told["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "Your HUD" in told["hookSpecificOutput"]["additionalContext"]
    assert hook("UserPromptSubmit", prompt="go on") == ""
    assert hook("PostToolUse", tool_response="x" * 3_000_000) == "", "what is large stays here"


def test_the_notes_for_a_summary_are_plain_text_for_claude_code_alone(running: Any, hook: Hook) -> None:
    hook("SessionStart", "claude-code", source="startup")
    arguments = {"operation": "constraints.add", "text": "Never touch legacy/"}
    running.ask("/v1/tool", host="claude-code", session=SESSION, router="hud", arguments=arguments)
    assert "Never touch legacy/" in hook("PreCompact", "claude-code", trigger="auto")
    shown = hook("PreCompact", "claude-code", trigger="manual")
    assert "comes back behind your summary" in shown and "legacy" not in shown, "it stays in the window"
    assert hook("PreCompact", "codex", trigger="auto") == ""


def test_a_daemon_is_started_where_none_runs(daemon: Any, hook: Hook) -> None:
    hook("Stop")
    try:
        until(lambda: greet(daemon.socket) is not None, "no daemon was started")
        assert "Your HUD" in hook("SessionStart", source="startup")
    finally:
        stop(daemon.socket)


def test_an_older_daemon_answers_and_is_replaced(daemon: Any, hook: Hook) -> None:
    older = daemon.start(version="0.0.1")
    assert "Your HUD" in hook("SessionStart", source="startup")
    older.wait(PATIENCE)
    until(lambda: (there := greet(daemon.socket)) is not None and there.pid != older.pid, "it is not replaced")


OTHER_EVENT = '{"decision": "block", "hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "x"}}'
NO_TEXT = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": 7}}'
TEXT = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "x"}}'


def http(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nhudkit-version: 99\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\0\xff" * 100,
        http("200 OK", "[]"),
        http("200 OK", "{"),
        http("500 no", TEXT),
        http("200 OK", OTHER_EVENT),
        http("200 OK", NO_TEXT),
    ],
)
def test_what_is_not_an_answer_is_not_passed_on(daemon: Any, hook: Hook, answer: bytes) -> None:
    with listening(daemon.socket, answer) as asked:
        assert hook("SessionStart", source="startup") == ""
        assert len(asked) == 1


def test_a_daemon_that_does_not_answer_is_asked_twice_and_then_where_a_window_begins(daemon: Any, hook: Hook) -> None:
    with listening(daemon.socket, None) as asked:
        for _ in range(4):
            assert hook("UserPromptSubmit") == ""
        hooks = [request for request in asked if request.startswith(b"POST /v1/hook/")]
        assert len(hooks) == 2
        assert hook("SessionStart", source="startup") == ""
        hooks = [request for request in asked if request.startswith(b"POST /v1/hook/")]
        assert len(hooks) == 3


@pytest.mark.parametrize("said", [b"", b"{", b"[]", b"{}", b"null"])
def test_what_is_not_a_hook_is_passed_over(daemon: Any, hook: Hook, said: bytes) -> None:
    assert hook("", said=said) == ""
    assert not daemon.socket.exists()
