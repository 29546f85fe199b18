"""Command lines run in this process, and a log to look at."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.log import payloads as p

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hudkit(capsys: pytest.CaptureFixture[str]) -> Run:
    """`hudkit("show", ...)` gives the exit code, the output and the error output."""

    def call(*argv: object) -> tuple[int, str, str]:
        try:
            code = main([str(word) for word in argv])
        except SystemExit as stopped:  # argparse ends so
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture(scope="session")
def log_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two sessions; `ses_b` is the newer one and has seven events."""
    path = tmp_path_factory.mktemp("log") / "hudkit.db"
    ticks = itertools.count(1_795_000_000_000, 1_000)
    with Hud.open(path, clock=lambda: next(ticks)) as hud:
        hud.session("ses_a").append(p.TaskSet("The first task"))
        other = hud.session("ses_b")
        other.append(p.TaskSet("Ship the second"), p.DecisionRecord("SQLite, not Redis"))
        other.append(p.NoteAdd("line one\n\x1b[31mred"))
        other.append(p.StepAdd("write it"), p.StepAdd("test it"))
        other.frame(used_tokens=50_000, limit_tokens=200_000)
    return path
