"""The recorded day as a log, inspected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from served_inspector import PageVisitor, ServedInspector

from hudkit.api import Hud
from hudkit.cli.demo import ORCHARD_WINDOW, unpack_orchard
from hudkit.cli.replays.recorded_log import write_recorded_log
from hudkit.log.stores import open_log
from hudkit.paths import index_path
from hudkit.transcripts import OpenCodeTranscript
from hudkit.transcripts.search import PastSessions, open_past_sessions


@pytest.fixture(scope="session")
def orchard_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log that the recorded day would have left."""
    folder = tmp_path_factory.mktemp("orchard")
    path = folder / "hudkit.db"
    write_recorded_log(OpenCodeTranscript.open(unpack_orchard(folder)), path, window=ORCHARD_WINDOW)
    return path


@pytest.fixture(scope="session")
def orchard(orchard_log: Path) -> Iterator[Hud]:
    with Hud(open_log(orchard_log, read_only=True)) as hud:
        yield hud


@pytest.fixture(scope="session")
def orchard_past(orchard_log: Path) -> Iterator[PastSessions]:
    """The transcripts of that day, indexed."""
    nowhere = orchard_log.parent / "nowhere"
    recorded = orchard_log.parent / "orchard.db"
    past = open_past_sessions(index_path(orchard_log), opencode=recorded, claude=nowhere, codex=nowhere, eager=False)
    past.update()
    yield past
    past.close()


@pytest.fixture(scope="session")
def served(orchard: Hud, orchard_past: PastSessions) -> Iterator[ServedInspector]:
    made = ServedInspector(orchard, orchard_past)
    yield made
    made.close()


@pytest.fixture(scope="session")
def visitor(served: ServedInspector) -> PageVisitor:
    """Who came in by the link."""
    made = PageVisitor(served)
    assert made.enter().status == 303
    return made


@pytest.fixture(scope="session")
def long_day(orchard: Hud) -> str:
    """The key of the session with two compactions and 165 calls."""
    return max(orchard.log.heads(), key=lambda head: head.seq).session_id
