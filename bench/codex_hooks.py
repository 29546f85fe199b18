"""What Codex waits for at a hook: a call of the MCP tool, and the command, each beside an empty one of its kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any, Self

from bench.figures import Figure
from hudkit.api import Hud
from hudkit.daemon.client import ensure_running, stop
from hudkit.hosts.hook_session import HookSession, find_session
from hudkit.hosts.hook_wire import read_hook

TITLE = "a hook of Codex ÷ an empty call of the same kind; the session's file grows by a tool call each time"
ROUNDS, COMMANDS, CPU_ROUNDS = 400, 60, 100
SESSION = "01a21415-5bdb-7d11-a792-21cb50e53961"
LINES = "a line of a report\n" * 60
MOST_CPU_MS = 10.0
MOST_MS = 20.0
"""Milliseconds that the answer of a warm hook may take at the 99th of 100, beyond what an empty call takes."""


class Server:
    """The MCP server as Codex starts it."""

    def __init__(self, env: dict[str, str]) -> None:
        words = [sys.executable, "-P", "-m", "hudkit", "mcp", "--host", "codex"]
        self._process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


class Rollout:
    """A session's file, as Codex writes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"rollout-2026-11-25T19-06-16-{SESSION}.jsonl"
        self._calls = 0
        self._write("session_meta", {"id": SESSION, "cwd": str(folder), "cli_version": "0.169.0"})
        text = [{"type": "input_text", "text": "Port the report."}]
        self._write("response_item", {"type": "message", "role": "user", "content": text})

    def call(self) -> None:
        """Begin one more command: its hook runs before its output is in the file."""
        self._calls += 1
        ran = {"cmd": f"cat part_{self._calls}.txt"}
        item = {"type": "function_call", "name": "exec_command", "arguments": json.dumps(ran)}
        self._write("response_item", item | {"call_id": f"call_{self._calls}"})

    def told(self, context: str) -> None:
        """Write what a hook told the model."""
        if not context:
            return
        kinds = {"content_item_kinds": ["hooks.additional_context"]}
        message = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": context}]}
        self._write("response_item", message | {"internal_chat_message_metadata_passthrough": kinds})

    def done(self, context: str = "") -> None:
        """End the command: what its hook told, its output, and the usage of the next call."""
        self.told(context)
        call = f"call_{self._calls}"
        output = f"Process exited with code {self._calls % 9 == 0:d}\nOutput:\n" + LINES
        self._write("response_item", {"type": "function_call_output", "call_id": call, "output": output})
        usage = {"input_tokens": 9_000 + 300 * self._calls, "output_tokens": 30, "total_tokens": 9_030}
        self._write("token_usage_record", {"usage": usage})

    def _write(self, kind: str, payload: dict[str, Any]) -> None:
        record = {"timestamp": "2026-11-25T19:06:16.000Z", "type": kind, "payload": payload}
        with self.path.open("a") as file:
            file.write(json.dumps(record) + "\n")


def _payload(rollout: Rollout, event: str, **fields: str) -> dict[str, str]:
    place = {"session_id": SESSION, "transcript_path": str(rollout.path), "cwd": str(rollout.path.parent)}
    return {"hook_event_name": event, **place, **fields}


def _times(rounds: int, rollout: Rollout, call: Callable[[], str]) -> list[float]:
    """Milliseconds of each call at a hook's moment, sorted; what it returns is what the model is told."""
    found = []
    for _ in range(rounds):
        rollout.call()
        start = perf_counter()
        context = call()
        found.append((perf_counter() - start) * 1000)
        rollout.done(context)
    return sorted(found)


def _context(answer: str) -> str:
    """What a hook's answer, as JSON, tells the model."""
    told = json.loads(answer or "{}").get("hookSpecificOutput", {}).get("additionalContext", "")
    assert isinstance(told, str)
    return told


def _p99(times: list[float]) -> float:
    return quantiles(times, n=100)[-1]


def run() -> list[Figure]:
    """The figures."""
    with tempfile.TemporaryDirectory(prefix="hk") as name:
        folder = Path(name)
        socket = folder / "run" / "d.sock"
        env = {**os.environ, "HUDKIT_SOCKET": str(socket), "HUDKIT_DB": str(folder / "hudkit.db")}
        env["HUDKIT_HOOK_PATIENCE"] = "30"  # what is measured must be answers
        ensure_running(socket, db=folder / "hudkit.db")
        try:
            return _figures(Rollout(folder), env)
        finally:
            stop(socket)


def _cpu_ms(rollout: Rollout) -> float:
    """Milliseconds of the processor that an answer takes, without what waits for the disk."""
    with Hud.in_memory() as hud:
        folder = str(rollout.path.parent)
        session = HookSession(find_session(hud, "codex", SESSION, folder), SESSION, folder, "codex")

        def answer(event: str, **fields: str) -> str:
            payload = read_hook(_payload(rollout, event, **fields))
            session.follow(payload)
            return session.answer(payload).context

        rollout.told(answer("SessionStart", source="resume"))
        spent = 0.0
        for _ in range(CPU_ROUNDS):
            rollout.call()
            start = process_time()
            context = answer("PostToolUse", tool_name="Bash")
            spent += process_time() - start
            rollout.done(context)
    return spent / CPU_ROUNDS * 1000


def _figures(rollout: Rollout, env: dict[str, str]) -> list[Figure]:
    command = [sys.executable, "-P", "-m", "hudkit", "hook", "codex"]
    done = json.dumps(_payload(rollout, "PostToolUse", tool_name="Bash"))

    def run_command(words: list[str]) -> str:
        ran = subprocess.run(words, env=env, input=done, capture_output=True, check=True, text=True)
        return _context(ran.stdout)

    with Server(env) as server:

        def hook(event: str, **fields: str) -> str:
            asked = {"name": "hud_hook", "arguments": _payload(rollout, event, **fields)}
            answer = server.ask("tools/call", **asked, _meta={"threadId": SESSION})
            return _context(answer["result"]["content"][0]["text"])

        def ping() -> str:
            server.ask("ping")
            return ""

        base = hook("SessionStart", source="startup")
        assert "Your HUD" in base
        rollout.told(base)
        _times(20, rollout, lambda: hook("PostToolUse", tool_name="Bash"))
        empty = _times(ROUNDS, rollout, ping)
        asked = _times(ROUNDS, rollout, lambda: hook("PostToolUse", tool_name="Bash"))
    cpu = _cpu_ms(rollout)
    bare = _times(COMMANDS, rollout, lambda: run_command([sys.executable, "-P", "-c", ""]))
    ran = _times(COMMANDS, rollout, lambda: run_command(command))
    return [
        Figure(
            "mcp_tool hook / empty call (ping) of the same server, medians",
            median(asked) / median(empty),
            note=f"{median(asked):.1f} / {median(empty):.2f} ms",
        ),
        Figure(
            f"p99 of an mcp_tool hook's answer beyond an empty call / {MOST_MS:g} ms",
            (_p99(asked) - _p99(empty)) / MOST_MS,
            1.0,
            note=f"p99 {_p99(asked):.1f} / {_p99(empty):.1f} ms",
        ),
        Figure(
            f"CPU of an answer in the daemon / {MOST_CPU_MS:g} ms",
            cpu / MOST_CPU_MS,
            1.0,
            note=f"{cpu:.1f} ms, behind {2 * ROUNDS + 20} tool calls",
        ),
        Figure(
            "command hook / an empty process of Python, medians",
            median(ran) / median(bare),
            note=f"{median(ran):.0f} / {median(bare):.0f} ms",
        ),
        Figure(
            f"p95 of a command hook beyond an empty process / {2 * MOST_MS:g} ms",
            (quantiles(ran, n=20)[-1] - quantiles(bare, n=20)[-1]) / (2 * MOST_MS),
            note=f"p95 {quantiles(ran, n=20)[-1]:.0f} / {quantiles(bare, n=20)[-1]:.0f} ms",
        ),
    ]
