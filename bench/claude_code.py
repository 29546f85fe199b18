"""What Claude Code waits for: a hook of the plugin beside an empty question of the same kind, and the status line
beside an interpreter that does nothing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from bench.daemon import Caller
from bench.figures import Figure
from hudkit.daemon.client import ensure_running, stop
from hudkit.hosts.claude_code.status_line import status_command

TITLE = "Claude Code: a hook ÷ an empty question over the same socket; the status line ÷ an empty interpreter"
ROUNDS = 400
HOOK_MS = 20.0
"""Milliseconds within which a warm hook is answered, at the 99th percentile."""
LINES = 40
LINE_MS = 40.0
"""Milliseconds that the status line may take."""


def run() -> list[Figure]:
    """Ratios at the 99th percentile (hooks) and the median (processes); the notes have milliseconds."""
    with tempfile.TemporaryDirectory(prefix="hk") as folder:
        return [*_hooks(Path(folder)), *_status_lines(Path(folder))]


def _hooks(folder: Path) -> list[Figure]:
    """A session whose file grows by a round of tools before each hook, as Claude Code's does."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "hosts" / "hooks"))
    from claude_file import SESSION, ClaudeFile  # type: ignore[import-not-found]

    socket = folder / "run" / "d.sock"
    ensure_running(socket, db=folder / "hudkit.db")
    try:
        caller = Caller(socket, reconnects=True)
        file = ClaudeFile(folder)
        common = {"session_id": SESSION, "cwd": str(folder), "transcript_path": str(file.path)}
        own = {"v": 1, "base": True, "window": 200_000, "tells_remaining": True}

        def hook(event: str, **more: Any) -> bytes:
            body = {"hook_event_name": event, **common, "hud": own, **more}
            return caller.ask("POST /v1/hook/claude-code", json.dumps(body).encode())

        hook("SessionStart", source="startup")
        file.prompt("Port the report. Never touch legacy/.")
        hooks, empty = [], []
        for number in range(ROUNDS):
            file.calls("Bash", {"command": f"echo {number}; exit {number % 9 == 0:d}"}, f"{number}\n" * 40)
            hooks.append(_milliseconds(lambda: hook("PostToolBatch")))
            empty.append(_milliseconds(lambda: caller.ask("POST /v1/hello")))
    finally:
        stop(socket)
    slow, base = _percentile(hooks, 0.99), _percentile(empty, 0.99)
    note = f"p99 {slow:.1f} ms, median {_percentile(hooks, 0.5):.1f} ms; empty: p99 {base:.1f} ms, {ROUNDS} rounds"
    share = Figure("a warm hook, p99, in parts of 20 ms", slow / HOOK_MS, 1.0, note)
    return [Figure("a hook, p99 / an empty question, p99", slow / base, None), share]


def _status_lines(folder: Path) -> list[Figure]:
    event = json.dumps(
        {"session_id": "s", "context_window": {"total_input_tokens": 1, "context_window_size": 200_000}}
    )
    line = shlex.split(status_command(sys.executable, folder))
    commands = {"line": line, "empty": [sys.executable, "-I", "-S", "-c", "pass"]}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(LINES):
        for name, command in commands.items():
            times[name].append(_milliseconds(partial(_run, command, event)))
    middle = {name: _percentile(each, 0.5) for name, each in times.items()}
    note = f"median {middle['line']:.1f} ms; an empty interpreter {middle['empty']:.1f} ms"
    share = Figure("the status line, in parts of 40 ms", middle["line"] / LINE_MS, 1.0, note)
    return [Figure("the status line / an empty interpreter", middle["line"] / middle["empty"], None), share]


def _run(command: list[str], event: str) -> None:
    subprocess.run(command, input=event, capture_output=True, text=True, check=True)


def _milliseconds(work: Callable[[], object]) -> float:
    begin = perf_counter()
    work()
    return 1_000 * (perf_counter() - begin)


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
