"""What every test shares: deterministic time and ids, and the Hypothesis profiles."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from hudkit.api import Hud

settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("house"), max_examples=12)
settings.register_profile("long", parent=settings.get_profile("house"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


class Ticking:
    """Time and ids that count up."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self.now = 1_795_000_000_000

    def clock(self) -> int:
        self.now += 1000
        return self.now

    def ids(self) -> str:
        return f"01a00000-0000-7000-8000-{next(self._ids):012x}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write what is seen as what is expected")


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def hud(ticking: Ticking) -> Iterator[Hud]:
    with Hud.in_memory(clock=ticking.clock, ids=ticking.ids) as opened:
        yield opened
