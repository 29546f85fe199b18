"""`hudkit replay` over a home with 1,000 recorded sessions of Claude Code and Codex, as a new user types it.

The command lists the histories, then explains each in a process of its own; the time is that of all three. Beside it
stands what it takes to decode every line of the same files as JSON, in one process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import perf_counter, sleep

import msgspec

from bench.figures import Figure
from bench.recorded_histories import write_histories

SESSIONS = int(os.environ.get("HUDKIT_BENCH_SESSIONS", "1000"))
TITLE = f"histories: {SESSIONS:,} recorded sessions of Claude Code and Codex explained"
MAX_SECONDS, MAX_MEGABYTES = 60, 500


def run() -> Iterator[Figure]:
    """Write the home, explain it and yield the figures."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        counts = write_histories(home, SESSIONS)
        decoded = _decode_all(home)
        began = perf_counter()
        times = os.times()
        peak = _Peak()
        _replay(home, peak)
        facts = [
            json.loads(_replay(home, peak, str(home / path), "--json"))
            for path in (".claude/projects", ".codex/sessions")
        ]
        seconds = perf_counter() - began
        spent = os.times()
        used = spent.children_user + spent.children_system - times.children_user - times.children_system
        summaries = [each["summary"] for each in facts]
        found = sum(summary["sessions"] for summary in summaries)
        megabytes = counts["bytes"] / 1e6
        note = f"{seconds:.1f} s, {used:.1f} s of processors; {megabytes:,.0f} MB in {counts['files']:,} files"
        yield Figure(f"{found:,} sessions: time of the {MAX_SECONDS} s it may take", seconds / MAX_SECONDS, 1.0, note)
        yield Figure("the same, in processor time", used / MAX_SECONDS, None, "where other work runs beside it")
        yield Figure(
            f"memory of all processes of the {MAX_MEGABYTES} MB it may take",
            peak.bytes / 1e6 / MAX_MEGABYTES,
            1.0,
            f"{peak.bytes / 1e6:,.0f} MB",
        )
        yield Figure("processor time ÷ decoding every line as JSON", used / decoded, None, f"{decoded:.1f} s")
        compactions = sum(summary["compactions"] for summary in summaries)
        skipped = sum(_skipped(summary["skipped"]) for summary in summaries)
        words = f"{compactions:,} compactions explained, {skipped} lines passed over"
        yield Figure("sessions that were not explained", SESSIONS - found, 0.0, words)


def _skipped(skipped: dict[str, object]) -> int:
    broken, half, unknown = skipped["broken"], skipped["half_written"], skipped["unknown"]
    assert isinstance(broken, int) and isinstance(half, int) and isinstance(unknown, dict)
    return broken + half + sum(unknown.values())


def _decode_all(home: Path) -> float:
    decoder = msgspec.json.Decoder()
    began = os.times()
    for path in home.rglob("*.jsonl"):
        with path.open("rb") as file:
            for line in file:
                try:
                    decoder.decode(line)
                except msgspec.DecodeError:
                    continue
    ended = os.times()
    return max(ended.user + ended.system - began.user - began.system, 0.001)


def _replay(home: Path, peak: _Peak, *args: str) -> str:
    environment = {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
    environment.update(CODEX_HOME=str(home / ".codex"), XDG_DATA_HOME=str(home / "data"))
    command = [sys.executable, "-m", "hudkit", "replay", *args]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    watcher = Thread(target=peak.watch, args=(process.pid,), daemon=True)
    watcher.start()
    out, _ = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(f"{command} failed")
    return out


class _Peak:
    """The most memory that a process and its children hold at one time, what they share counted once."""

    def __init__(self) -> None:
        self.bytes = 0

    def watch(self, pid: int) -> None:
        """Look until the process is gone."""
        while True:
            total = sum(map(_memory, _tree(pid)))
            if not total:
                return
            self.bytes = max(self.bytes, total)
            sleep(0.1)


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in children:
        yield from _tree(int(child))


def _memory(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
    return int(line.split()[1]) * 1024
