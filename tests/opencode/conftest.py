"""Real OpenCode for tests: skipped with a reason where npm cannot bring it, an error where CI is set."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hud_plugin import written
from opencode_binary import Unavailable, binary
from opencode_host import Hosts, OpenCode

from hudkit.daemon import client
from hudkit.testing.model import ScriptedModel

_STARTED: pytest.StashKey[list[OpenCode]] = pytest.StashKey()


@pytest.fixture(scope="session")
def opencode_installed() -> Path:
    """The executable."""
    try:
        return binary()
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs OpenCode: {error}")
        pytest.skip(str(error))


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    """A scripted model; give it its lines with `model.play(...)`."""
    with ScriptedModel() as server:
        yield server


@pytest.fixture
def place() -> Iterator[Path]:
    """The folder of the daemon's log (`hudkit.db`) and socket (`run/d.sock`); the daemon ends with the test."""
    folder = Path(tempfile.mkdtemp(prefix="hk"))
    yield folder
    client.stop(folder / "run" / "d.sock")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def plugin(place: Path) -> Path:
    """Our plugin, patient."""
    return written(place)


@pytest.fixture
def opencode(
    opencode_installed: Path, tmp_path: Path, model: ScriptedModel, request: pytest.FixtureRequest
) -> Iterator[Hosts]:
    """Makes OpenCodes at the test's folder, with the options of `OpenCode`; they end with the test."""
    started = request.node.stash.setdefault(_STARTED, [])
    with ExitStack() as stack:

        def make(**options: Any) -> OpenCode:
            host = stack.enter_context(OpenCode(options.pop("place", tmp_path), model.url, **options))
            started.append(host)
            return host

        yield make


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failed test shows the ends of its OpenCode's logs."""
    outcome: Any = yield
    report = outcome.get_result()
    if report.when == "call" and report.failed:
        for host in item.stash.get(_STARTED, []):
            report.sections.append((f"logs of {host.place}", host.tail_of_logs()))
