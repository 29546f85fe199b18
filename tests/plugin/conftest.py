"""The generated plugin, driven by node (and by OpenCode's own Bun where that is there) against a wire on a socket."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from plugin_driver import BUN, SCRIPT, Drive, Ran
from wire_server import WireServer

from hudkit.hosts.opencode.plugin import Baked, generate


@pytest.fixture(params=["node", pytest.param("bun", marks=pytest.mark.slow)])
def runtime(request: pytest.FixtureRequest) -> list[str]:
    """What runs the plugin; Bun is the one inside OpenCode."""
    if request.param == "bun":
        if not BUN.exists():
            pytest.skip("OpenCode's Bun is not here; tests/opencode brings it")
        return [str(BUN), "run"]
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH")
    return [node]


@pytest.fixture
def place() -> Iterator[Path]:
    """A short directory: the names of sockets are limited."""
    with TemporaryDirectory(prefix="hk") as made:
        yield Path(made)


@pytest.fixture
def daemon(place: Path) -> Iterator[WireServer]:
    with WireServer(place / "d.sock") as server:
        yield server
        assert server.wrong == []


@pytest.fixture
def drive(place: Path, runtime: list[str]) -> Drive:
    """`drive(step, ...)` runs a plugin's hooks in one process. `python` is what it starts as a daemon."""

    def run(*steps: dict[str, Any], python: str = "/nowhere/python", plugin: bool = True) -> Ran:
        file = place / "hudkit.mjs"
        said = str(file) if plugin else str(place / "uninstalled.js")
        file.write_text(
            generate(Baked(python, str(place), str(place / "hudkit.db"), str(place / "d.sock"), said)), "utf-8"
        )
        done = subprocess.run(
            [*runtime, str(SCRIPT)],
            input=json.dumps({"plugin": str(file), "steps": steps}),
            capture_output=True,
            text=True,
            timeout=30,
            env={**os.environ, "BUN_BE_BUN": "1"},
            cwd=place,
        )
        assert done.returncode == 0, done.stderr
        return msgspec.json.decode(done.stdout, type=Ran)

    return run
