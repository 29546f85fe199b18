"""The start of the command line: CPU time of a process, beside one that only parses with argparse.

The commands take turns with argparse, round by round, so that a busier minute of the machine is one of all of them.
"""

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
from hudkit.cli.demo import ORCHARD_WINDOW, unpack_orchard
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.log import payloads as p
from hudkit.transcripts import OpenCodeTranscript

TITLE = "starting the command line, CPU time beside bare argparse"
_ARGPARSE = "import argparse; parser = argparse.ArgumentParser(); parser.add_argument('--x'); parser.parse_args([])"
_ROUNDS = 15
_MOST = 5.5
"""Times the processor time of argparse: 0.12 s where that takes 22 ms."""
_HELPS = ("show", "memory", "install", "rooms run")
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
_DAY_READS = ("log", "show", "show --state", "show --cache", "show --window", "memory search pumps")
"""What is measured on the recorded day, too: 874 events of five sessions, the longest of 679, with compactions."""


class _Process:
    """A command line and the CPU time of its runs, in seconds, user and system."""

    def __init__(self, *argv: str, log: Path | None = None) -> None:
        self._argv = argv
        self._environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        if log is not None:
            self._environment |= {"HUDKIT_DB": str(log), "HOME": str(log.parent)}
        self._seconds: list[float] = []

    def run(self) -> None:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *self._argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
            env=self._environment,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    @property
    def seconds(self) -> list[float]:
        """All but the first run, which may compile modules: an installed package has done that once."""
        return self._seconds[1:]


def _make_log(path: Path) -> None:
    with Hud.open(path) as hud:
        session = hud.session("ses_small")
        session.append(p.TaskSet("Make the tests pass"), p.DecisionRecord("SQLite, not Redis"))
        session.frame(used_tokens=50_000, limit_tokens=200_000)


def _make_day(path: Path) -> str:
    """Write the log of the recorded day, and return its longest session."""
    with OpenCodeTranscript.open(unpack_orchard(path.parent / "recording")) as transcript:
        write_recorded_log(transcript, path, window=ORCHARD_WINDOW)
    with Hud.open(path) as hud:
        return max(hud.log.sessions(), key=hud.log.last_seq)


def _on_the_day(words: str, session: str) -> tuple[str, ...]:
    return (*words.split(), *(() if words.startswith("memory") else (session,)))


def run() -> list[Figure]:
    """The target: 0.12 s for a command that only reads. `doctor` and `watch` do more than that."""
    with tempfile.TemporaryDirectory() as folder:
        log, day = Path(folder, "small", "hudkit.db"), Path(folder, "day", "hudkit.db")
        log.parent.mkdir()
        day.parent.mkdir()
        _make_log(log)
        longest = _make_day(day)
        transcript = log.parent / ".claude" / "projects" / "-p" / "session.jsonl"  # for `replay` to list
        transcript.parent.mkdir(parents=True)
        transcript.write_text('{"type":"user","sessionId":"s","message":{"role":"user","content":"hello"}}\n')
        bare = _Process("-c", _ARGPARSE)
        processes = {f"hudkit {words} --help": _Process("-m", "hudkit", *words.split(), "--help") for words in _HELPS}
        for words in _READS:
            processes[f"hudkit {words}"] = _Process("-m", "hudkit", *words.split(), log=log)
        for words in _DAY_READS:
            command = _on_the_day(words, longest)
            processes[f"hudkit {words}, a recorded day"] = _Process("-m", "hudkit", *command, log=day)
        processes["from hudkit import Hud"] = _Process("-c", "from hudkit import Hud; Hud")
        for _ in range(_ROUNDS + 1):
            for process in (bare, *processes.values()):
                process.run()
    return [_figure(name, process, bare) for name, process in processes.items()]


def _figure(name: str, process: _Process, bare: _Process) -> Figure:
    usual = median(process.seconds)
    note = (
        f"{1000 * usual:.0f} ms, least {1000 * min(process.seconds):.0f}; argparse {1000 * median(bare.seconds):.0f}"
    )
    most = 4 if name.endswith("--help") else None if name.startswith("from") else _MOST
    return Figure(name, usual / median(bare.seconds), most=most, note=note)
