"""The MCP server of a host that calls hooks: on standard input and output, with nothing behind it but the daemon.

Codex does not wait for it: what it offers is in the first request only where it is up by then. So it is no server of
the SDK, whose import alone takes longer than all of this: it reads JSON-RPC by the line, knows the three methods that
such a host calls, and asks the daemon as `hook_client` does. Each call has a thread and a deadline of its own; a
daemon that hangs holds up nothing else.

Beside `hud` and `memory` it answers the tool `hud_hook`, which is in no list: only the host calls it, for its hooks.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from hudkit.daemon.hook_client import NotAsked, answer_hook, ask_daemon
from hudkit.hosts.hook_deadlines import hook_patience

TYPE_CHECKING = False  # importing typing takes longer than connecting
if TYPE_CHECKING:
    from typing import Any

HOOK_TOOL = "hud_hook"
"""The tool that the host calls for its hooks."""

_PROTOCOLS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of MCP in which the three methods are as they are here, the newest last."""

_INSTRUCTIONS = (
    "hud records what must outlive compaction (task, rules, decisions, steps, notes); memory finds what was said in "
    "any session. Operation help explains. In scripts: tools.mcp__hudkit__hud({operation, text})."
)
"""What the model is told of the server; Codex sends it with each request."""

_TOOL_SECONDS = 5.0
"""Seconds within which a call of the agent's is answered."""

_TOOLS_FILE = os.path.join(os.path.dirname(__file__), "mcp_tools.json")  # noqa: PTH118, PTH120

_NO_METHOD, _NO_JSON, _WRONG = -32601, -32700, -32602


def main(host: str) -> int:
    """Serve a host until it closes standard input; return 0."""
    out = _JsonLines()
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        try:
            message = json.loads(line)
            method, number = str(message["method"]), message.get("id")
        except (ValueError, KeyError, TypeError, AttributeError):
            out.error(None, _NO_JSON, "that is no request")
            continue
        if number is None:
            continue
        params = message.get("params")
        asked = params if isinstance(params, dict) else {}
        if method == "tools/call":
            threading.Thread(target=_answer_call, args=(host, out, number, asked), daemon=True).start()
        elif method == "initialize":
            out.result(number, _hello(asked))
        elif method == "tools/list":
            out.result(number, {"tools": _tools()})
        elif method == "ping":
            out.result(number, {})
        else:
            out.error(number, _NO_METHOD, f"there is no method {method[:40]!r}")
    return 0


class _JsonLines:
    """Messages on standard output, one a line, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def result(self, number: Any, result: dict[str, Any]) -> None:
        self._write({"jsonrpc": "2.0", "id": number, "result": result})

    def error(self, number: Any, code: int, message: str) -> None:
        self._write({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})

    def _write(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            with self._lock:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)  # the host has gone


def _hello(asked: dict[str, Any]) -> dict[str, Any]:
    from hudkit import __version__

    version = asked.get("protocolVersion")
    return {
        "protocolVersion": version if version in _PROTOCOLS else _PROTOCOLS[-1],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "hudkit", "title": "hudkit", "version": __version__},
        "instructions": _INSTRUCTIONS,
    }


def _tools() -> list[dict[str, Any]]:
    """The agent's tools, as they stand in a file: importing the operations takes longer than all the rest."""
    with open(_TOOLS_FILE, "rb") as file:  # noqa: PTH123
        tools: list[dict[str, Any]] = json.load(file)
    return tools


def write_tools() -> None:
    """Write the file of the agent's tools anew, as the operations are now:

    python -c "from hudkit.daemon.mcp_bridge import write_tools; write_tools()"
    """
    with open(_TOOLS_FILE, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(json.dumps(describe_tools(), indent=1) + "\n")


def describe_tools() -> list[dict[str, Any]]:
    """Return the agent's tools as MCP has them. None needs to be asked for: what is removed stays in the log, and
    nothing leaves this machine."""
    from hudkit.tools import DEFINITIONS

    hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
    return [
        {
            "name": definition["name"],
            "description": definition["description"],
            "inputSchema": definition["parameters"],
            "annotations": hints,
        }
        for definition in DEFINITIONS
    ]


def _answer_call(host: str, out: _JsonLines, number: Any, asked: dict[str, Any]) -> None:
    name, arguments = asked.get("name"), asked.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    meta = asked.get("_meta")
    session = str(meta.get("threadId") or "") if isinstance(meta, dict) else ""
    if name == HOOK_TOOL:
        out.result(number, _content(_hook(host, session, arguments)))
    elif name in ("hud", "memory"):
        text, ok = _call(host, session, name, arguments)
        out.result(number, {**_content(text), "isError": not ok})
    else:
        out.error(number, _WRONG, f"there is no tool {str(name)[:40]!r}; there are: hud, memory")


def _content(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _hook(host: str, session: str, payload: dict[str, Any]) -> str:
    """What the host is told for a hook; never fails. A hook of a sub-agent names the session that started it."""
    if session and session != payload.get("session_id") and "agent_id" not in payload:
        payload = {**payload, "agent_id": session}
    try:
        return answer_hook(host, payload) or "{}"
    except Exception as error:
        if os.environ.get("HUDKIT_DEBUG"):
            print(f"hudkit mcp: {type(error).__name__}: {error}", file=sys.stderr)
        return "{}"


def _call(host: str, session: str, router: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """What the agent is told for a call of its own, and whether it was carried out."""
    from hudkit.hosts.wire import PROTOCOL, PROTOCOL_HEADER

    if not session:
        return "hudkit: the host does not say which session this is. Nothing was recorded.", False
    question = {"host": host, "session": session, "directory": os.getcwd(), "router": router, "arguments": arguments}  # noqa: PTH109
    try:
        headers = f"{PROTOCOL_HEADER}: {PROTOCOL}\r\n"
        status, content = ask_daemon(
            "/v1/tool", json.dumps(question).encode(), time.monotonic() + _TOOL_SECONDS * hook_patience(), headers
        )
        answer = json.loads(content)
        if status == 200:
            return str(answer["text"]), bool(answer["ok"])
        return f"hudkit: {answer['error']['message']}. Nothing was recorded.", False
    except (NotAsked, FileNotFoundError, ConnectionRefusedError, NotADirectoryError, PermissionError):
        return "hudkit: the daemon cannot be reached. Nothing was recorded; `hudkit doctor` says why.", False
    except Exception as error:
        why = "the daemon does not answer in time" if isinstance(error, TimeoutError) else f"{error}"
        return f"hudkit: {why}. It is not certain that this was recorded; look before you call again.", False
