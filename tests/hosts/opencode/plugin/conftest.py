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
from plugin_driver import SCRIPT, Drive, Ran
from wire_server import WireServer

from hudkit.hosts.opencode.plugin import PluginPaths, generate_plugin
from plugin_clock import patient


@pytest.fixture(params=["node", pytest.param("bun", marks=pytest.mark.slow)])
def runtime(request: pytest.FixtureRequest) -> list[str]:
    """What runs the plugin; Bun is inside OpenCode, which is that when `BUN_BE_BUN` is set."""
    if request.param == "bun":
        return [str(request.getfixturevalue("opencode_installed")), "run"]
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs node")
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
    """`drive(step, ...)` runs a plugin's hooks in one process. `python` is what it starts as a daemon.

    Deadlines pass while the file `late` is in the place, and after `deadline_ms`, those of the tools after
    `tools_ms`; or as users have them, `by_the_clock`. `added` is code behind the plugin's own.
    """

    def run(
        *steps: dict[str, Any],
        python: str = "/nowhere/python",
        plugin: bool = True,
        deadline_ms: int | None = None,
        tools_ms: int | None = None,
        by_the_clock: bool = False,
        added: str = "",
    ) -> Ran:
        file = place / "hudkit.mjs"
        said = str(file) if plugin else str(place / "uninstalled.js")
        text = generate_plugin(PluginPaths(python, str(place), str(place / "hudkit.db"), str(place / "d.sock"), said))
        if not by_the_clock:
            text = patient(text, place / "late")
        for name, given in (("DEADLINE_MS", deadline_ms), ("FIRST_MS", deadline_ms), ("PATIENT_MS", tools_ms)):
            if given is not None:
                text = text.replace(f"{name} = 60_000;", f"{name} = {given};")
        file.write_text(text + added, "utf-8")
        done = subprocess.run(
            [*runtime, str(SCRIPT)],
            input=json.dumps({"plugin": str(file), "steps": steps}),
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "BUN_BE_BUN": "1"},
            cwd=place,
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr, done.stderr
        return msgspec.json.decode(done.stdout, type=Ran)

    return run
