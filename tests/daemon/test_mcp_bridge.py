"""`hudkit mcp --host`: the MCP server of a host that calls hooks, whatever the daemon does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hudkit import Hud
from hudkit.daemon.mcp_bridge import describe_tools

pytestmark = pytest.mark.slow

THREAD = "01a21415-5bdb-7d11-a792-21cb50e53961"
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def process(daemon: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "hudkit", "mcp", "--host", "codex"],
        env={**os.environ, "HUDKIT_SOCKET": str(daemon.socket), "HUDKIT_DB": str(daemon.db)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as started:
        yield started


@pytest.fixture
def ask(process: subprocess.Popen[bytes]) -> Ask:
    """Sends a request and returns the whole answer."""
    numbers = iter(range(1, 100))

    def send(method: str, **params: Any) -> dict[str, Any]:
        number = next(numbers)
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode())
        process.stdin.write(b"\n")
        process.stdin.flush()
        answer: dict[str, Any] = json.loads(process.stdout.readline())
        assert answer["id"] == number
        return answer

    return send


def call(ask: Ask, name: str, thread: str = THREAD, **arguments: Any) -> tuple[str, bool]:
    result = ask("tools/call", name=name, arguments=arguments, _meta={"threadId": thread})["result"]
    return result["content"][0]["text"], result.get("isError", False)


def hook(ask: Ask, event: str, thread: str = THREAD, **fields: str) -> dict[str, Any]:
    payload = {"hook_event_name": event, "session_id": THREAD, "cwd": "/tmp", "transcript_path": "", **fields}
    answer: dict[str, Any] = json.loads(call(ask, "hud_hook", thread, **payload)[0])
    return answer


def test_the_tools_are_offered_and_the_hooks_tool_is_not(ask: Ask) -> None:
    hello = ask("initialize", protocolVersion="2025-06-18")["result"]
    assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == ("2025-06-18", "hudkit")
    tools = ask("tools/list")["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["hud", "memory"]
    assert tools == describe_tools(), "the file is older than the operations: hudkit.daemon.mcp_bridge.write_tools"
    assert all(tool["annotations"]["destructiveHint"] is False for tool in tools)
    assert ask("ping")["result"] == {}
    assert ask("prompts/list")["error"]["code"] == -32601
    assert "there is no tool 'x'" in ask("tools/call", name="x")["error"]["message"]


def test_a_hook_and_a_call_of_the_agent_are_of_one_session(ask: Ask, running: Any) -> None:
    base = hook(ask, "SessionStart", source="startup")["hookSpecificOutput"]["additionalContext"]
    assert "none set yet" in base
    assert call(ask, "hud", operation="task.set", text="Fire the kiln") == ("Set the task.", False)
    assert call(ask, "hud", operation="task.sett")[1]
    delta = hook(ask, "UserPromptSubmit")["hookSpecificOutput"]["additionalContext"]
    assert "task now: Fire the kiln" in delta and hook(ask, "PostToolUse") == {}
    with Hud.open(running.db) as log:
        (key,) = [key for key in log.sessions() if not key.startswith("@")]
        assert key.startswith(f"codex/{THREAD}") and log.session(key).state.task.description == "Fire the kiln"


def test_a_hook_in_a_sub_agent_is_of_its_own_session(ask: Ask, running: Any) -> None:
    child = THREAD[:-1] + "2"
    hook(ask, "SessionStart", source="startup")
    hook(ask, "SubagentStart", child, agent_id=child, agent_type="default")
    hook(ask, "PostToolUse", child, tool_name="Bash")
    with Hud.open(running.db) as log:
        links = {
            key.split("/")[1][:36]: log.session(key).state.session.links for key in log.sessions() if key[0] != "@"
        }
    assert [link.relation for link in links[child]] == ["parent"]
    assert [link.relation for link in links[THREAD]] == ["child"]


def test_the_start_of_a_window_that_is_told_twice_is_answered_once(ask: Ask, running: Any) -> None:
    """Codex calls a command as well, which may come first or second."""
    for source in ("startup", "compact"):
        texts = [json.dumps(hook(ask, "SessionStart", source=source)) for _ in range(2)]
        assert ["Your HUD" in text for text in texts] == [True, False], source


def test_without_a_daemon_nothing_is_acknowledged(ask: Ask, daemon: Any) -> None:
    """It cannot be started either: its directory is a file."""
    daemon.socket.parent.parent.mkdir(parents=True, exist_ok=True)
    daemon.socket.parent.write_text("")
    assert hook(ask, "SessionStart", source="startup") == {}
    text, failed = call(ask, "hud", operation="task.set", text="Fire the kiln")
    assert failed and "Nothing was recorded" in text


def test_a_line_that_is_no_request_ends_nothing(process: subprocess.Popen[bytes], ask: Ask) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b"nonsense\n\n[]\n")
    process.stdin.flush()
    errors = [json.loads(process.stdout.readline()) for _ in range(2)]
    assert [error["error"]["code"] for error in errors] == [-32700, -32700]
    assert ask("ping")["result"] == {}
    process.stdin.close()
    assert process.wait(60) == 0
