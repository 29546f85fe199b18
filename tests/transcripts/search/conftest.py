"""An index over invented talks, and a transcript that a test writes itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from talks_fixture import Talks

from hudkit.transcripts.search import IndexReader, IndexWriter


@pytest.fixture(scope="session")
def talks() -> Talks:
    return Talks()


@pytest.fixture(scope="session")
def reader(talks: Talks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[IndexReader]:
    path = tmp_path_factory.mktemp("talks") / "talks.db"
    with IndexWriter.open(path) as index:
        index.update([talks])
    asked = IndexReader.open(path)
    yield asked
    asked.close()
