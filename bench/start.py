"""The start of the command line: CPU time of a process, beside one that only parses with argparse."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench.figures import Figure
from hudkit.api import Hud
from hudkit.log import payloads as p

TITLE = "starting the command line, CPU time beside bare argparse"
_ARGPARSE = "import argparse; parser = argparse.ArgumentParser(); parser.add_argument('--x'); parser.parse_args([])"
_RUNS = 15
_MOST = 5.5
"""Times the processor time of argparse: 0.12 s where that takes 22 ms."""
_READS = (
    "log",
    "show",
    "show --sessions",
    "show --state",
    "show --cache",
    "show --window",
    "compactions",
    "memory sessions",
    "memory search tests",
    "memory summary",
    "replay",
    "project",
    "config",
    "verify",
    "statusline",
)


def _cpu_seconds(*argv: str) -> float:
    """Median CPU time of a process, user and system: on a busy machine it is what stays the same.

    The first run is not counted: it may compile modules, which an installed package has done once.
    """
    seconds = []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(_RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            env=environment,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return median(seconds[1:])


def _make_log(path: Path) -> None:
    with Hud.open(path) as hud:
        session = hud.session("ses_small")
        session.append(p.TaskSet("Make the tests pass"), p.DecisionRecord("SQLite, not Redis"))
        session.frame(used_tokens=50_000, limit_tokens=200_000)


def run() -> list[Figure]:
    """The target: 0.12 s for a command that only reads. `doctor` and `watch` do more than that."""
    bare = _cpu_seconds("-c", _ARGPARSE)
    note = f"argparse {1000 * bare:.0f} ms"
    helps = ("show", "memory", "install", "rooms run")
    figures = [
        Figure(
            f"hudkit {words} --help", _cpu_seconds("-m", "hudkit", *words.split(), "--help") / bare, most=4, note=note
        )
        for words in helps
    ]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "hudkit.db"
        _make_log(log)
        transcript = Path(folder) / ".claude" / "projects" / "-p" / "session.jsonl"  # for `replay` to list
        transcript.parent.mkdir(parents=True)
        transcript.write_text('{"type":"user","sessionId":"s","message":{"role":"user","content":"hello"}}\n')
        os.environ |= {"HUDKIT_DB": str(log), "HOME": folder}
        for words in _READS:
            seconds = _cpu_seconds("-m", "hudkit", *words.split())
            note = f"{1000 * seconds:.0f} ms"
            figures.append(Figure(f"hudkit {words}", seconds / bare, most=_MOST, note=note))
    figures.append(Figure("from hudkit import Hud", _cpu_seconds("-c", "from hudkit import Hud; Hud") / bare))
    return figures
