"""Real Claude Code for tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from claude_host import SUMMARY, ClaudeCode, Data

from hudkit.testing.model_server import ScriptedModel

Claudes = Callable[..., ClaudeCode]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(compaction=SUMMARY) as server:
        yield server


@pytest.fixture
def data() -> Iterator[Data]:
    """Where hudkit's data are; its daemon ends with the test."""
    made = Data(Path(tempfile.mkdtemp(prefix="hk")))
    yield made
    made.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return folder


@pytest.fixture
def claude(
    claude_code_installed: Path, model: ScriptedModel, data: Data, project: Path, tmp_path: Path
) -> Iterator[Claudes]:
    """Makes sessions of Claude Code with our plugin, with the options of the class; they end with the test."""
    with ExitStack() as stack:
        written: list[Path] = []

        def make(session: str = "", **options: Any) -> ClaudeCode:
            if "plugin" not in options:
                if not written:
                    written.append(data.write_plugin())
                options["plugin"] = written[0]
            return stack.enter_context(ClaudeCode(tmp_path / "home", project, model.url, session, **options))

        yield make
