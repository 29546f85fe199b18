"""A log, and the capability over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.hosts.pydantic_ai import HudCapability


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Hud]:
    with Hud.open(tmp_path / "log" / "hud.db") as opened:
        yield opened


@pytest.fixture
def capability(board: Hud, tmp_path: Path) -> HudCapability[None]:
    return HudCapability[None](board, project=tmp_path)
