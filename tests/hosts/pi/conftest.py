"""Real pi for tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pi_host import SUMMARIZER, PiData

from hudkit.models.scripted_answers import says
from hudkit.testing.model_server import ScriptedModel


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    marks = {"compaction": (SUMMARIZER,)}
    with ScriptedModel(compaction=says("What was done so far is done."), marks=marks) as server:
        yield server


@pytest.fixture
def data() -> Iterator[PiData]:
    """Where hudkit's data are; its daemon ends with the test."""
    made = PiData(Path(tempfile.mkdtemp(prefix="hk")))
    yield made
    made.stop()
    shutil.rmtree(made.folder, ignore_errors=True)


@pytest.fixture
def project(tmp_path: Path, pi_installed: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".git").mkdir()
    return folder
