"""A user's home of its own, bare or with everything in place: log, plugin, and a program that answers as OpenCode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doctor_home import Home, Look, Run, made_home

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.cli.checks import CHECKS, Check, examine, read_environment
from hudkit.cli.checks.host_checks import KNOWN_GOOD
from hudkit.hosts.opencode.plugin_install import install
from hudkit.log import payloads as p
from hudkit.paths import project_config


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home with nothing in it."""
    with made_home(monkeypatch) as home:
        yield home


@pytest.fixture
def home(bare: Home) -> Home:
    """A home with everything in place."""
    bare.program(KNOWN_GOOD)
    with Hud.open(bare.db) as hud:
        hud.session("ses_1").append(p.TaskSet("Find the lost comet"))
    install(read_environment(bare.project).install)
    return bare


@pytest.fixture
def look() -> Look:
    """`look()` gives every check by its name; `look("log")` makes only that one."""

    def made(*names: str) -> dict[str, Check]:
        here = read_environment(Path.cwd(), project_config(Path.cwd()))
        chosen = [one for one in CHECKS if not names or one.name in names]
        assert len(chosen) == (len(names) or len(CHECKS))
        return {one.name: one for one in examine(chosen, here)}

    return made


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Run:
    """`doctor("--json")` gives the exit code, the output and the error output."""

    def call(*argv: str) -> tuple[int, str, str]:
        try:
            code = main(["doctor", *argv])
        except SystemExit as stopped:  # argparse ends so
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call
