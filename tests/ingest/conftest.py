"""The recorded databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli.demo import unpack_orchard


@pytest.fixture(scope="session")
def orchard_db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_orchard(tmp_path_factory.mktemp("orchard"))


@pytest.fixture(scope="session")
def opencode_db() -> Path:
    return Path(__file__).parent.parent / "fixtures" / "opencode.db"


@pytest.fixture
def hud() -> Iterator[Hud]:
    with Hud.in_memory() as opened:
        yield opened
