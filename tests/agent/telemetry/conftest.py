"""Coroutines of these tests run on asyncio; what is exported is kept in memory."""

from __future__ import annotations

import pytest
from telemetry_recorder import Watched


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def watched() -> Watched:
    return Watched()
