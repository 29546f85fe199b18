"""What every test shares: deterministic time and ids, the Hypothesis profiles, and which modules a run reads."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hudkit.api import Hud

settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("house"), max_examples=12)
settings.register_profile("long", parent=settings.get_profile("house"), max_examples=1000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


HERE = Path(__file__).parent
WHOLLY_SLOW = re.compile(rb"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


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
    parser.addoption(
        "--part", default="1/1", help="of the modules only these: 1/2 and 2/2 are all, for two runs at once"
    )


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--part")
    part, _, parts = given.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"--part={given}: it is written as 1/2, 2/2 and the like")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A run of "not slow" imports no module that is slow as a whole, nor folders of those; a part only its own.

    The imports of the slow ones (provider SDKs, for the most part) cost each process seconds.
    """
    quick = config.option.markexpr == "not slow"
    if collection_path.is_dir():
        modules = list(collection_path.rglob("test_*.py"))
        return True if quick and modules and all(map(_wholly_slow, modules)) else None
    if not collection_path.match("test_*.py"):
        return None
    part, parts = map(int, config.getoption("--part").split("/"))
    return True if (quick and _wholly_slow(collection_path)) or _part(collection_path, quick, parts) != part else None


@cache
def _wholly_slow(module: Path) -> bool:
    return WHOLLY_SLOW.search(module.read_bytes()) is not None


def _part(module: Path, quick: bool, parts: int) -> int:
    """The part that a module belongs to, from 1; one outside of this folder is in the first."""
    return _order(quick).get(module, 0) % parts + 1


@cache
def _order(quick: bool) -> dict[Path, int]:
    """The modules by size, the largest first, so that each part has as much to do."""
    modules = [module for module in HERE.rglob("test_*.py") if not (quick and _wholly_slow(module))]
    return {module: at for at, module in enumerate(sorted(modules, key=lambda m: (-m.stat().st_size, m)))}


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def hud(ticking: Ticking) -> Iterator[Hud]:
    with Hud.in_memory(clock=ticking.clock, ids=ticking.ids) as opened:
        yield opened
