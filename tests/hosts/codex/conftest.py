"""Real Codex for tests: with hudkit as its user has it, or without; a model on loopback."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from codex_host import Codex, end_daemon

from hudkit.testing.model_server import ScriptedModel

Codexes = Callable[..., Codex]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as one:
        yield one


@pytest.fixture
def codex(codex_installed: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Codexes]:
    """Makes Codexes; with `hud=False` one that hudkit is not installed in."""
    assert codex_installed.exists()
    # Others may be at work on this machine: what comes in time is not what these tests ask.
    monkeypatch.setenv("HUDKIT_HOOK_PATIENCE", "30")
    made: list[Path] = []

    def make(*, hud: bool = True, **options: Any) -> Codex:
        folder = Path(tempfile.mkdtemp(prefix="hk"))  # short, for the socket
        made.append(folder)
        one = Codex(folder, model.url, **options)
        if hud:
            one.install()
        return one

    yield make
    for folder in made:
        end_daemon(folder / "data" / "run" / "daemon.sock")
        shutil.rmtree(folder, ignore_errors=True)
