"""A project with sessions of its own, the command in this process, and a real terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.cli import main
from terminal_harness import Desk, Run, Tmux, open_tmux


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path)
    monkeypatch.chdir(made.project)
    for name in ("NO_COLOR", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "HUDKIT_DATA", "HUDKIT_CONFIG"):
        monkeypatch.setenv(name, made.env[name])
    return made


@pytest.fixture
def hudkit(desk: Desk, capsys: pytest.CaptureFixture[str]) -> Run:
    """`hudkit("run", ...)` in this process: the exit code, the output, the error output."""

    def call(*argv: object) -> tuple[int, str, str]:
        try:
            code = main([str(word) for word in argv])
        except SystemExit as stopped:  # argparse ends so
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def tmux(desk: Desk) -> Iterator[Tmux]:
    with open_tmux(desk) as terminal:
        yield terminal
