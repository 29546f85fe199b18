"""Real OpenCode for tests."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hud_plugin import written
from opencode_host import Hosts, OpenCode
from opencode_shared import Guest, Shared
from wrong_daemon import Between

from hudkit.daemon import client
from hudkit.testing.model_server import ScriptedModel

_STARTED: pytest.StashKey[list[OpenCode]] = pytest.StashKey()


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
def between(place: Path) -> Iterator[Between]:
    """Stands before the daemon."""
    real = place / "run" / "r.sock"
    client.ensure_running(real, db=place / "hudkit.db")
    made = Between(place / "run" / "d.sock", real)
    yield made
    made.close()
    client.stop(real)


@pytest.fixture
def plugin(place: Path) -> Path:
    """Our plugin, patient."""
    return written(place)


@pytest.fixture(scope="session")
def shared_opencode(
    opencode_installed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Shared]]:
    """The processes that tests of a worker share, by the text of the settings that hudkit has in them."""
    with ExitStack() as stack:

        @cache
        def shared(settings: str) -> Shared:
            place = tmp_path_factory.mktemp("shared")
            file = place / "config.toml"
            file.write_text(settings)
            return stack.enter_context(Shared(place, {"HUDKIT_CONFIG": str(file)} if settings else {}))

        yield shared


@pytest.fixture
def opencode(
    opencode_installed: Path,
    shared_opencode: Callable[[str], Shared],
    tmp_path: Path,
    model: ScriptedModel,
    request: pytest.FixtureRequest,
) -> Iterator[Hosts]:
    """Makes OpenCodes at the test's folder, with the options of `OpenCode`; they end with the test.

    Each is a project in a process that other tests use too, whose hudkit has the given `settings`; with `own` (or a
    `place`) it is a process of the test's own.
    """
    started = request.node.stash.setdefault(_STARTED, [])
    with ExitStack() as stack:

        def make(*, own: bool = False, settings: str = "", **options: Any) -> OpenCode:
            place = options.pop("place", None)
            made: OpenCode
            if own or place is not None:
                made = OpenCode(place or tmp_path, model.url, **options)
            else:
                made = Guest(shared_opencode(settings), tmp_path, model.url, **options)
            host = stack.enter_context(made)
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
