"""Benchmarks that put code of their own into what ships, with few rounds: that they still fit it."""

from __future__ import annotations

import pytest
from bench.opencode import executable
from bench.plugin import CASES, measured

pytestmark = pytest.mark.hosts


def test_the_plugin_is_timed_in_opencodes_own_bun() -> None:
    found = measured(executable(), rounds=2)
    assert not found["failed"]
    assert {name: len(of["ms"]) for name, of in found["results"].items()} == dict.fromkeys(("empty", *CASES), 2)
