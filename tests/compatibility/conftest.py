"""Copies of the stored files, the command line in this process, and goldens beside the tests."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from compatibility_files import FIXTURES, GOLDENS, copied
from compatibility_internals import main

Run = Callable[..., tuple[int, str, str]]
Golden = Callable[[str, str], None]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of all files, with an environment that knows of nothing else."""
    place = tmp_path / "stored"
    copied(FIXTURES, place)
    for name in list(os.environ):
        # The run's mark stays: by it a process that a test starts ends with the run (`watchdog`).
        if name.startswith(("HUDKIT_", "XDG_", "OPENCODE", "CLAUDE", "CODEX")) and name != "HUDKIT_TEST_RUN":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "home" / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "home" / "share"))
    monkeypatch.setenv("HUDKIT_DATA", str(place / "data"))
    monkeypatch.setenv("HUDKIT_CONFIG", str(place / "config" / "config.toml"))
    monkeypatch.chdir(place / "project")
    return place


@pytest.fixture
def hudkit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`hudkit("show", ...)` gives the exit code, the output and the error output of a command line."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hudkit", *map(str, words)])
        try:
            code = main()
        except SystemExit as stopped:  # argparse ends so
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def facts(hudkit: Run) -> Callable[..., Any]:
    """The JSON that a command line prints; it has to go well."""

    def run(*words: object, code: int = 0) -> Any:
        ended, out, err = hudkit(*words, "--json")
        assert ended == code, err or out
        return json.loads(out)

    return run


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with a golden; `--update-goldens` writes one, which only an intended change may need."""

    def compare(name: str, text: str) -> None:
        path = GOLDENS / name
        if request.config.getoption("--update-goldens"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{name}: what an earlier version stored is read otherwise"

    return compare
