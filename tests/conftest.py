"""What every test shares: deterministic time and ids, the Hypothesis profiles, which modules a run reads, which tests
belong to which size of run, and the end of every process that a test has started."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

import campaigns
import watchdog
from campaigns import Campaign
from hudkit.api import Hud
from mcp_programs import MCP_PROGRAMS, command
from npm_programs import CLAUDE_CODE, CODEX, OPENCODE, PI, NpmProgram, Unavailable, executable
from postgres_server import Server, running_server
from ticking import Ticking

settings.register_profile(
    "house", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("quick", parent=settings.get_profile("house"), max_examples=12)
settings.register_profile("long", parent=settings.get_profile("house"), max_examples=1000, derandomize=False)
settings.register_profile("seeded", parent=settings.get_profile("house"), derandomize=False, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


HERE = Path(__file__).parent
PROGRAMS = {"opencode_installed", "runtime", "tmux", "browser", "postgres"}
"""Fixtures that are real programs: OpenCode, a JavaScript runtime, a terminal, Chromium, a PostgreSQL server."""
LOADS = {
    "test_commonmark_round_trip",
    "test_gfm_round_trip",
    "test_fresh_installs",
    "test_release_build",
    "test_rooms_newcomer",
    "test_chat_templates",
    "test_sentence_model",
}
"""Modules that start such programs by themselves, or load what they test from package registries."""
_WATCHDOG: pytest.StashKey[subprocess.Popen[bytes]] = pytest.StashKey()
WHOLLY_SLOW = re.compile(rb"^pytestmark = .*\bpytest\.mark\.slow\b", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write what is seen as what is expected")
    parser.addoption("--campaign", metavar="NAME", help="run only this campaign, in full; `list` tells of all")
    parser.addoption("--campaign-seed", type=int, default=0, metavar="N", help="other random numbers for it")
    parser.addoption(
        "--part", default="1/1", help="of the modules only these: 1/2 and 2/2 are all, for two runs at once"
    )


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("--part")
    part, _, parts = given.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise pytest.UsageError(f"--part={given}: it is written as 1/2, 2/2 and the like")
    config.stash[_WATCHDOG] = watchdog.start()
    if seed := config.getoption("--campaign-seed"):
        settings.load_profile("seeded")
        config.option.hypothesisseed = seed
        os.environ[campaigns.SEED] = str(seed)
    if name := config.getoption("--campaign"):
        os.environ[campaigns.NAME] = name


def pytest_unconfigure(config: pytest.Config) -> None:
    if waiting := config.stash.get(_WATCHDOG, None):
        assert waiting.stdin is not None
        waiting.stdin.close()
        waiting.wait()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if is_of_hosts(item):
            item.add_marker(pytest.mark.hosts)
        if item.name == "test_the_hud_costs_little":
            item.add_marker(pytest.mark.campaign(campaigns.HOST_DAYS))
    name = config.getoption("--campaign")
    if not name:
        return
    found = [(part, item) for item in items if (part := part_of(item)) is not None]
    wanted = [] if name == "list" else [item for part, item in found if part.name == name]
    if name == "list":
        for part, item in sorted(found, key=lambda pair: (pair[0].name, pair[1].nodeid)):
            print(f"{part.name:12} {part.quick:>6} {part.full:>6}  {item.nodeid}")
    elif not wanted:
        raise pytest.UsageError(f"--campaign={name}: there are {', '.join(sorted({part.name for part, _ in found}))}")
    config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
    items[:] = wanted


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--campaign") == "list":
        session.exitstatus = pytest.ExitCode.OK


def is_of_hosts(item: pytest.Item) -> bool:
    """Whether a test belongs to `make hosts`."""
    return item.path.stem in LOADS or not PROGRAMS.isdisjoint(getattr(item, "fixturenames", ()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if part := part_of(item):
        item.user_properties.append(("rounds", f"{item.name}: {part.rounds:,}"))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The row of docs/benchmarks.md that a campaign is worth."""
    name = config.getoption("--campaign")
    if name in (None, "list"):
        return
    git = ["git", "describe", "--always", "--dirty", "--abbrev=9", "--exclude=*"]
    commit = subprocess.run(git, cwd=HERE, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    reports = [
        one for key in ("passed", "failed") for one in terminalreporter.stats.get(key, ()) if one.when == "call"
    ]
    properties = [one for report in reports for one in report.user_properties]
    rounds = "; ".join(sorted(said for key, said in properties if key in ("rounds", "figures")))
    failed = sum(one.failed for one in reports)
    seed = config.getoption("--campaign-seed")
    lasted = sum(one.duration for one in reports)
    result = f"{failed} of {len(reports)} failed" if failed else f"{len(reports)} passed"
    terminalreporter.write_line(
        f"| {name} | {time.strftime('%Y-%m-%d')} | {commit} | {seed} | {rounds} | {result} | {lasted:.0f} s |"
    )


def part_of(item: pytest.Item) -> Campaign | None:
    """The part of a campaign that a test is."""
    mark = item.get_closest_marker("campaign")
    return mark.args[0] if mark else None


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


_Program, _Installed = TypeVar("_Program"), TypeVar("_Installed")


def _installed(program: NpmProgram) -> Path:
    return _or_skip(executable, program)


def _or_skip(install: Callable[[_Program], _Installed], program: _Program) -> _Installed:
    """What an installation gives: skipped with a reason where it cannot be had, an error where CI is set."""
    try:
        return install(program)
    except Unavailable as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI needs {program}: {error}")
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def mcp_commands() -> dict[str, tuple[str, ...]]:
    """The commands of real MCP servers, by name: `git` of PyPI, `memory` of npm."""
    return {program.name: _or_skip(command, program) for program in MCP_PROGRAMS}


@pytest.fixture(scope="session")
def opencode_installed() -> Path:
    return _installed(OPENCODE)


@pytest.fixture(scope="session")
def claude_code_installed() -> Path:
    return _installed(CLAUDE_CODE)


@pytest.fixture(scope="session")
def codex_installed() -> Path:
    return _installed(CODEX)


@pytest.fixture(scope="session")
def pi_installed() -> Path:
    return _installed(PI)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def hud(ticking: Ticking) -> Iterator[Hud]:
    with Hud.in_memory(clock=ticking.clock, ids=ticking.ids) as opened:
        yield opened
