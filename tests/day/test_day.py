"""One working day in every host: what the day says is true, everywhere that one can look."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from day_cost import measure_cost
from day_faults import FaultyDay
from day_hosts import DAY_MARKS, HOSTS, hudkit_variables
from day_run import DayRun
from day_script import read_day
from day_table import write_cost, write_result

from campaigns import NAME, Campaign
from hudkit.testing.model_server import ScriptedModel

pytestmark = [pytest.mark.slow, pytest.mark.hosts]

PAGES = Path(__file__).resolve().parents[2] / "docs"

FAULTS = Campaign("day", quick=3, full=100)
"""Seeds of the day with faults, in each host."""

QUICK = ("session", "langchain", "openai-agents", "pydantic-ai", "gateway", "google-adk")
"""Hosts that run their first three seeds in `make hosts`; the campaign runs all (docs/a-day.md)."""

MOST_COST = 1.2
"""What the work of a day may cost with the HUD, as a multiple of that without it."""


@pytest.fixture
def home() -> Iterator[Path]:
    """A short folder, for the socket."""
    folder = Path(tempfile.mkdtemp(prefix="hk"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", HOSTS)
def test_the_day_holds_in_a_host(name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedModel(marks=DAY_MARKS) as model:
        project = tmp_path / "project"
        project.mkdir()
        day = DayRun(name, home, project, model, read_day())
        _set(monkeypatch, hudkit_variables(day.place))
        result = day.run()
    write_result(result)
    page = (PAGES / day.suite.page).read_text("utf-8")
    assert not [words for words in day.suite.missing.values() if words not in " ".join(page.split())], (
        "the page says so"
    )
    print(*(f"{name}: {each.step}: {each.where}: {each.what}" for each in result.differences), sep="\n")
    assert not result.differences


@pytest.mark.parametrize("name", HOSTS)
def test_the_work_of_the_day_costs_little_more_with_the_hud(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Days so short pay for their first base: a long one costs less (`test_the_hud_costs_little` of each host)."""
    homes = (home / "a", home / "b")
    for each in homes:
        each.mkdir()
    cost = measure_cost(name, tmp_path, homes, read_day(), lambda variables: _set(monkeypatch, variables))
    write_cost(name, cost)
    print(f"{name}: × {cost.times:.3f}, {cost.calls} calls")
    assert 1 < cost.times < MOST_COST


@FAULTS
@pytest.mark.parametrize("name", HOSTS if os.environ.get(NAME) == FAULTS.name else QUICK)
@pytest.mark.parametrize("number", range(FAULTS.rounds))
def test_the_day_holds_with_faults(
    name: str, number: int, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = FAULTS.seed(number)
    with ScriptedModel(marks=DAY_MARKS) as model:
        project = tmp_path / "project"
        project.mkdir()
        day = FaultyDay(name, home, project, model, read_day(), seed=seed)
        _set(monkeypatch, {**hudkit_variables(day.place), **day.variables()})
        monkeypatch.setattr(sys.modules[__name__], "_offset", day.offset)
        monkeypatch.setattr(time, "time", _time)
        monkeypatch.setattr(time, "time_ns", _time_ns)
        # LangGraph goes on from the latest time that it saw in this process: that of another day, and of no child's.
        monkeypatch.setattr("langgraph.checkpoint.base.id._last_v6_timestamp", None)
        result = day.run()
    print(f"{name}, seed {seed}:", *day.faults, sep="\n")
    print(*(f"{name}: {each.step}: {each.where}: {each.what}" for each in result.differences), sep="\n")
    assert not result.differences


_OWN_TIME, _OWN_TIME_NS = time.time, time.time_ns


def _offset() -> float:
    """Seconds by which the clock of the day that is played is off."""
    return 0.0


def _time() -> float:
    """The clock of every day: a library that is imported in one of them keeps it for the next ones."""
    return _OWN_TIME() + _offset()


def _time_ns() -> int:
    return _OWN_TIME_NS() + int(_offset() * 1e9)


def _set(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
