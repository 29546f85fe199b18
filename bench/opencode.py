"""OpenCode for the benchmarks: what the tests have of it, or the reason why it is not here."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.figures import Skipped

TESTS = Path(__file__).resolve().parents[1] / "tests" / "hosts" / "opencode"


def tests_module(name: str) -> Any:
    """A module of tests/hosts/opencode."""
    for folder in (TESTS, TESTS.parents[1]):
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
    return import_module(name)


def executable() -> Path:
    """OpenCode's, which is Bun where `BUN_BE_BUN` is set. Raises `Skipped`."""
    module = tests_module("npm_programs")
    try:
        return Path(module.executable(module.OPENCODE))
    except module.Unavailable as error:
        raise Skipped(str(error)) from None
