"""`replay` and `demo` as commands: exit codes, JSON, what they leave behind, and where escape codes belong."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.cli.replays.report import SCHEMA

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]
OPENCODE = Path(__file__).parent.parent / "fixtures" / "opencode.db"
CHILD = "ses_e06789b8dffeXGmoMaHvNAIrqa"


@pytest.mark.slow
def test_replay_prints_tables(hudkit: Run) -> None:
    code, out, err = hudkit("replay", OPENCODE, "--window", "40,000")
    assert (code, err) == (0, "")
    assert out.count("no HUD  ") == 5, "four sessions and their sum"
    assert "window: 40,000 tokens, as given" in out and "All 4 sessions" in out
    assert "\x1b" not in out
    code, out, _ = hudkit("replay", OPENCODE, "--session", CHILD)
    assert code == 0 and out.startswith("made-up sub (@general subagent)\n")
    assert "ASSUMED" in out and "--window" in out


@pytest.mark.slow
def test_replay_as_json(hudkit: Run) -> None:
    code, out, _ = hudkit("replay", OPENCODE, "--json", "--frames", "--session", "ses_e06790")
    report = json.loads(out)
    assert code == 0 and report["schema"] == SCHEMA == 1
    (session,) = report["sessions"]
    assert session["turns"] == 10 and len(session["frames"]) == 10
    assert session["frames"][0]["base"].startswith("Your HUD")
    assert [one["variant"] for one in session["costs"][0]["variants"]] == ["no HUD", "in system", "anchored"]
    assert session["compacted"][0]["lost"] == []


def test_replay_prints_frames(hudkit: Run) -> None:
    code, out, _ = hudkit("replay", OPENCODE, "--frames", "--session", "ses_e06790")
    assert code == 0 and [f"\ncall {n} of 10: " in f"\n{out}" for n in range(1, 11)] == [True] * 10
    assert "  │ # Task" in out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((OPENCODE, "--session", "nobody"), "no sessions match 'nobody'"),
        ((OPENCODE, "--price-as", "abacus-1"), "abacus-1"),
        ((OPENCODE, "--budget", "5"), "--budget"),
        ((OPENCODE, "--window", "none"), "'none' is not a number of tokens"),
        ((OPENCODE, "--window", "0"), "'0' is not a number of tokens"),
        (("/nowhere/opencode.db",), "/nowhere/opencode.db"),
        ((__file__,), "test_cli_replay_demo.py"),
        ((Path(__file__).parent,), "directory"),
        ((), "Name one: `hudkit replay ~/.claude/projects`"),
    ],
)
def test_what_replay_cannot_do(hudkit: Run, argv: tuple[object, ...], words: str) -> None:
    code, out, err = hudkit("replay", *argv)
    assert (code, out) == (2, "")
    assert words in err and "Traceback" not in err


def test_replay_of_another_database(hudkit: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE session (id text, words text)")
    connection.close()
    code, _, err = hudkit("replay", path)
    assert code == 2 and "is not an OpenCode database" in err


def test_records_that_cannot_be_read_are_exit_code_1(hudkit: Run, tmp_path: Path) -> None:
    copy = tmp_path / "opencode.db"
    shutil.copy(OPENCODE, copy)
    with sqlite3.connect(copy) as connection:
        connection.execute("UPDATE part SET data = 'x' WHERE id = (SELECT max(id) FROM part)")
    connection.close()
    code, out, _ = hudkit("replay", copy)
    assert code == 1 and "1 records could not be read" in out


def test_demo(hudkit: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    code, out, err = hudkit("demo")
    assert (code, err) == (0, "")
    assert out.startswith("hudkit: ") and "\x1b" not in out
    for words in ("1. A calm moment", "2. Under pressure", "3. What the two compactions did", "4. What it costs"):
        assert words in out
    assert "hudkit --help" in out, "there is no examples folder here"
    assert list(tmp_path.iterdir()) == [], "nothing is left behind"


@pytest.mark.slow
def test_demo_as_json(hudkit: Run) -> None:
    code, out, _ = hudkit("demo", "--json")
    report = json.loads(out)
    assert code == 0 and report["schema"] == SCHEMA
    assert [one["turns"] for one in report["sessions"]] == [165, 8, 15, 17, 11]


@pytest.mark.slow
def test_colour_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hudkit", "replay", str(OPENCODE), "--session", CHILD]
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    piped = subprocess.run(argv, env=plain, capture_output=True, check=True)
    assert b"\x1b" not in piped.stdout and piped.stderr == b""
    assert b"\x1b[1m" in _on_a_terminal(argv, {**plain, "TERM": "xterm"})
    assert b"\x1b" not in _on_a_terminal(argv, {**plain, "TERM": "xterm", "NO_COLOR": "1"})


def _on_a_terminal(argv: list[str], env: dict[str, str]) -> bytes:
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, env=env, stdout=theirs, stderr=subprocess.DEVNULL) as child:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not piece:
                break
            seen += piece
        os.close(ours)
        assert child.wait() == 0
    return seen
