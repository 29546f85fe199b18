# ruff: noqa: PTH100, PTH118, PTH123 - pathlib takes longer to import than all of this
"""The status line: what a person sees below the prompt, from the file that the daemon keeps for each session.

Claude Code runs the command after each response. So that it costs next to nothing, it is an interpreter without
anything (`python -I -S`) that runs this file alone: it imports only what it needs, and of hudkit nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False  # importing typing takes longer than all of this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

_CACHE_SECONDS = 300
"""Seconds for which the provider keeps a prefix that nobody reads (5 minutes by default)."""

_OWN_SECONDS = 5.0
"""Seconds within which the user's own status line must have printed."""

_TASK_CHARACTERS = 60
_MAX_LINE = 400


def status_command(python: str, data: Path) -> str:
    """Return the command line for Claude Code's settings."""
    import shlex

    return shlex.join([python, "-I", "-S", os.path.abspath(__file__), os.fspath(data)])


def main(data: str, text: str, now: float | None = None) -> str:
    """Return the line for what Claude Code says on standard input; never raises, whatever it is."""
    try:
        facts = json.loads(text)
        session = str(facts.get("session_id") or "")
        record = _read_session(data, session) if session and "/" not in session and session[0] != "." else {}
        return _line(facts, record, time.time() if now is None else now)
    except Exception:
        return ""


def _line(facts: dict[str, Any], record: dict[str, Any], now: float) -> str:
    parts = [_window(facts, record), str(record.get("forecast") or ""), _task(record), _cache(record, now)]
    return " · ".join(part for part in parts if part)[:_MAX_LINE]


def _window(facts: dict[str, Any], record: dict[str, Any]) -> str:
    """The window in use: as Claude Code says it now, else as the daemon heard it last."""
    window = facts.get("context_window") or {}
    used, limit = window.get("total_input_tokens"), window.get("context_window_size")
    if not used or not limit:
        used, limit = record.get("used"), record.get("limit")
    if not used or not limit:
        return ""
    return f"{100 * used / limit:.0f}% of {limit // 1000}k"


def _task(record: dict[str, Any]) -> str:
    words = " ".join(str(record.get("task") or "").split())
    # What reached the log from elsewhere must not write to the terminal.
    words = "".join(letter for letter in words if letter.isprintable())
    return words if len(words) <= _TASK_CHARACTERS else f"{words[: _TASK_CHARACTERS - 1]}…"


def _cache(record: dict[str, Any], now: float) -> str:
    written = record.get("time")
    if not isinstance(written, int | float) or not written:
        return ""
    left = _CACHE_SECONDS - (now - written / 1000)
    return f"cache warm {int(left) // 60}:{int(left) % 60:02d}" if left > 0 else "cache cold"


def _read_session(data: str, session: str) -> dict[str, Any]:
    try:
        with open(os.path.join(data, "claude-code", f"{session}.json"), encoding="utf-8") as file:
            record = json.load(file)
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _own_line(data: str, text: str) -> str:
    """What the user's own status line prints, which ours took the place of."""
    try:
        with open(os.path.join(data, "install", "claude-code.json"), encoding="utf-8") as file:
            command = (json.load(file).get("own_status_line") or {}).get("command")
        if not isinstance(command, str) or not command:
            return ""
        import subprocess

        quiet = subprocess.DEVNULL
        done = subprocess.run(
            command,
            shell=True,
            input=text,
            stdout=subprocess.PIPE,
            stderr=quiet,
            text=True,
            timeout=_OWN_SECONDS,
            check=False,
        )
        return done.stdout.rstrip("\n")
    except Exception:  # `SubprocessError` would have to be imported first
        return ""


if __name__ == "__main__":
    event = sys.stdin.read()
    folder = sys.argv[1] if len(sys.argv) > 1 else ""
    lines = [line for line in (_own_line(folder, event), main(folder, event)) if line]
    if lines:
        print("\n".join(lines))
