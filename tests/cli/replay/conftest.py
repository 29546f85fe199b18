"""The recorded databases, replayed once."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.cli.demo import ORCHARD_WINDOW, unpack_orchard
from hudkit.cli.replays import Options, Report, replay
from hudkit.transcripts import OpenCodeTranscript

OPENCODE = Path(__file__).parents[2] / "fixtures" / "opencode.db"


@pytest.fixture(scope="session")
def orchard_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_orchard(tmp_path_factory.mktemp("orchard"))


@pytest.fixture(scope="session")
def orchard_report(orchard_db: Path) -> Report:
    return replay(OpenCodeTranscript.open(orchard_db), Options(window=ORCHARD_WINDOW, frames=True))


@pytest.fixture(scope="session")
def opencode_report() -> Report:
    return replay(OpenCodeTranscript.open(OPENCODE))
