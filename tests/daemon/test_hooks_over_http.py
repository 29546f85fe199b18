"""Hooks that reach the daemon: over its socket, and over loopback for who has the token."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hudkit.hosts.hook_address import HookAddress, read_hook_address, write_hook_address

SESSION = "5e551000-0000-4000-8000-000000000001"

pytestmark = pytest.mark.slow


def hook(event: str, **fields: Any) -> bytes:
    return json.dumps({"hook_event_name": event, "session_id": SESSION, "cwd": "/tmp", **fields}).encode()


def posted(port: int, path: str, body: bytes, **headers: str) -> tuple[int, Mapping[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(connection):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", f"/v1/hook/{path}", body, {"content-type": "application/json", **named})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_a_hook_over_the_socket_is_answered_in_the_hosts_words(running: Any, host: str) -> None:
    status, answer = running.sent(f"/v1/hook/{host}", hook("SessionStart", source="startup"))
    assert status == 200
    told = answer["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart" and "Your HUD" in told["additionalContext"]
    again = {"host": host, "session": SESSION, "directory": "/tmp", "router": "hud"}
    arguments = {"operation": "notes.add", "content": "a fact"}
    noted = running.ask("/v1/tool", **again, arguments=arguments)
    assert noted["ok"], "the tools are of the same session"
    told = running.sent(f"/v1/hook/{host}", hook("UserPromptSubmit"))[1]["hookSpecificOutput"]
    assert "a fact" in told["additionalContext"]
    assert running.sent(f"/v1/hook/{host}", hook("UserPromptSubmit")) == (200, {}), "nothing new"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not JSON"),
        (b"[]", "does not fit"),
        (b'{"hook_event_name": "Stop"}', "session_id"),
        (hook("Stop", cwd=7), "$.cwd"),
        (hook("Stop", hud={"v": 99}), "version 99"),
    ],
)
def test_a_hook_that_cannot_be_read_is_told_what_is_wrong(running: Any, body: bytes, words: str) -> None:
    status, answer = running.sent("/v1/hook/codex", body)
    assert status in (400, 426) and words in answer["error"]["message"]


def test_the_port_is_there_where_a_host_asked_for_it_and_answers_who_has_the_token(
    daemon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = daemon.db.parent
    monkeypatch.setenv("HUDKIT_DATA", str(data))
    monkeypatch.setenv("HUDKIT_DB", str(daemon.db))
    address = data / "hooks.json"
    daemon.start()
    assert not address.exists(), "nobody asked for a port"
    daemon.ask("/v1/stop")
    daemon.processes[0].wait()

    write_hook_address(address, HookAddress())
    daemon.start()
    there = read_hook_address(address)
    assert there is not None and there.port and there.socket == str(daemon.socket)
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    good = f"Bearer {there.token}"
    start = hook("SessionStart", source="startup")
    assert posted(there.port, "claude-code", start)[0] == 401
    assert posted(there.port, "claude-code", start, authorization="Bearer x")[0] == 401
    assert posted(there.port, "claude-code", start, authorization=good, host="evil.example")[0] == 421
    assert posted(there.port, "claude-code", start, authorization=good, origin="http://evil.example")[0] == 403
    status, answer = posted(there.port, "claude-code", start, authorization=good)
    assert status == 200 and "Your HUD" in answer["hookSpecificOutput"]["additionalContext"]
    daemon.ask("/v1/stop")
    daemon.processes[1].wait()

    daemon.start()
    again = read_hook_address(address)
    assert again is not None and (again.port, again.token) == (there.port, there.token), "a restart changes nothing"


def test_an_address_that_others_can_read_opens_no_port(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = daemon.db.parent
    monkeypatch.setenv("HUDKIT_DATA", str(data))
    monkeypatch.setenv("HUDKIT_DB", str(daemon.db))
    write_hook_address(data / "hooks.json", HookAddress())
    (data / "hooks.json").chmod(0o644)
    daemon.start()
    assert json.loads((data / "hooks.json").read_text())["port"] == 0
    assert "no port for hooks" in (data / "daemon.log").read_text()


def test_a_transcript_of_any_size_holds_no_hook_up(running: Any, tmp_path: Path) -> None:
    """What could not be read in time is read behind the answer, and the next hook has it."""
    file = tmp_path / f"{SESSION}.jsonl"
    os.mkfifo(file)  # nobody writes: a reader that waited would wait for ever
    status, answer = running.sent("/v1/hook/codex", hook("SessionStart", source="startup", transcript_path=str(file)))
    assert status == 200 and "Your HUD" in answer["hookSpecificOutput"]["additionalContext"]
