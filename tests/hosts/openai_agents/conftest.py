"""A log of its own for each test, and no traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from agents import set_tracing_disabled

from hudkit.hosts.openai_agents import HudRunner


@pytest.fixture(autouse=True)
def _quiet() -> None:
    set_tracing_disabled(True)


@pytest.fixture
def hud(tmp_path: Path) -> Iterator[HudRunner]:
    with HudRunner(tmp_path / "hud.db", project=tmp_path, window=32_000) as opened:
        yield opened
