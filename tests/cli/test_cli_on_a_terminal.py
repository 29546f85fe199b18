"""What commands print on a terminal: in colours, within its width, between words; plain where NO_COLOR says so."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.cells import cell_len

from hudkit.api import Hud
from hudkit.log import Origin
from hudkit.log import payloads as p
from hudkit.log.payloads import ContextSnapshot, RequestParts, ResponseTokens, ToolOutputTotal
from terminals import ESCAPE, on_terminal, plain

pytestmark = pytest.mark.slow

SHOWN = {
    "show": ("show",),
    "show-sent": ("show", "--sent"),
    "window": ("show", "--window"),
    "cache": ("show", "--cache"),
    "sessions": ("show", "--sessions"),
    "caches": ("show", "--cache", "--sessions"),
    "log": ("log",),
    "compactions": ("compactions",),
    "memory": ("memory", "sessions"),
    "doctor": ("doctor",),
    "config": ("config",),
    "demo": ("demo",),
}
LONG = "Ship the irrigation scheduler to all greenhouses before the first frost of the season arrives there"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a log of two sessions: a day of calls, and a short one."""
    home = tmp_path_factory.mktemp("home")
    ticks = itertools.count(1_795_000_000_000, 60_000)
    with Hud.open(home / "hudkit.db", clock=lambda: next(ticks)) as hud:
        first = hud.session("ses_0001aaaabbbbcccc1111", host="opencode", project=home)
        first.start(host="opencode", title="Pick the apples", directory="/home/ada/orchard")
        session = hud.session("ses_0002aaaabbbbcccc2222", host="opencode", project=home)
        session.start(host="opencode", title="Water the beds at night", directory="/home/ada/orchard")
        session.append(p.TaskSet(LONG), p.DecisionRecord("SQLite, not Redis", "one file " * 30))
        session.append(p.NoteAdd("line one\n\x1b[31mred"))
        for used in (20_000, 30_000, 40_000):
            parts = RequestParts(8_000, 20_000, 500, (ToolOutputTotal("read", 90_000),))
            session.frame(limit_tokens=100_000, model="m", parts=parts)
            spent = ResponseTokens(fresh=used - 1_000, output=1_000)
            report = ContextSnapshot(used, 100_000, 4_000, "m", "reported", spent=spent)
            session.append(report, origin=Origin.HOST)
    return home


@pytest.fixture(scope="module")
def env(home: Path) -> Mapping[str, str]:
    own = {"HOME": str(home), "HUDKIT_DATA": str(home), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "TMPDIR")}
    return kept | own


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_coloured_and_no_line_is_too_long(name: str, env: Mapping[str, str]) -> None:
    for columns in (80, 120):
        seen = on_terminal(*SHOWN[name], env=env, columns=columns)
        assert max(map(cell_len, plain(seen).split("\n"))) < columns
    assert (ESCAPE.search(seen) is not None) == (name not in ("compactions",))
    assert "\x1b[31mred" not in seen


@pytest.mark.parametrize("name", SHOWN)
def test_no_color_is_heard(name: str, env: Mapping[str, str]) -> None:
    seen = on_terminal(*SHOWN[name], env={**env, "NO_COLOR": "1"})
    assert ESCAPE.search(seen) is None and seen


@pytest.mark.parametrize("name", ["show", "show-sent", "window", "cache", "doctor"])
def test_no_word_is_broken_and_none_is_lost(name: str, env: Mapping[str, str]) -> None:
    words = [sys.executable, "-m", "hudkit", *SHOWN[name]]
    piped = subprocess.run(words, env=dict(env), capture_output=True, text=True, check=False).stdout
    assert "\x1b" not in piped and "█" not in piped
    fits = {word for word in piped.split() if len(word) < 50 and word.isalpha()}
    assert fits and fits <= set(plain(on_terminal(*SHOWN[name], env=env)).split())


def test_a_terminal_that_does_not_know_its_width_has_eighty_columns(env: Mapping[str, str]) -> None:
    assert on_terminal("log", env=env, columns=0) == on_terminal("log", env=env, columns=80)


def test_sessions_are_listed_as_a_person_names_them(env: Mapping[str, str]) -> None:
    lines = plain(on_terminal("show", "--sessions", env=env)).splitlines()
    assert lines[0].split() == ["id", "last", "title", "host", "project", "events"]
    assert lines[1].split()[0] == "cc2222" and "Water the beds at night" in lines[1] and "orchard" in lines[1]
    for asked in ("cc2222", "water", "night beds", "ses_0002"):
        assert "Water the beds at night (cc2222)" in plain(on_terminal("show", asked, env=env))
        listed = subprocess.run(
            [sys.executable, "-m", "hudkit", "memory", "messages", asked],
            env=dict(env),
            capture_output=True,
            text=True,
        )
        assert listed.returncode == 0 and "ses_0002aaaabbbbcccc2222" in listed.stdout


def test_a_name_that_fits_several_sessions_lists_them(env: Mapping[str, str]) -> None:
    for command in (("show", "the"), ("memory", "messages", "the")):
        words = [sys.executable, "-m", "hudkit", *command]
        done = subprocess.run(words, env=dict(env), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "2 sessions match 'the'" in done.stderr
        assert '"Pick the apples"' in done.stderr and '"Water the beds at night"' in done.stderr


def test_the_difference_that_an_install_would_make_is_coloured_and_can_be_copied(env: Mapping[str, str]) -> None:
    words = ("install", "opencode", "--anyway", "--dry-run")
    piped = subprocess.run(
        [sys.executable, "-m", "hudkit", *words], env=dict(env), capture_output=True, text=True, check=False
    )
    seen = on_terminal(*words, env=env)
    assert "\x1b[32m+{" in seen and "\x1b" not in piped.stdout
    assert [line for line in plain(seen).splitlines() if line.startswith("+")] == [
        line for line in piped.stdout.splitlines() if line.startswith("+")
    ]


def test_the_window_has_a_bar_for_each_part(env: Mapping[str, str]) -> None:
    seen = plain(on_terminal("show", "--window", env=env))
    assert "window █" in seen and "40k/100k 40%" in seen
    rows = [line for line in seen.splitlines() if " % " in line and "█" in line]
    assert [row.split()[0] for row in rows][-1] == "free" and len(rows) >= 4
