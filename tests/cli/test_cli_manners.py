"""Manners of every command: nearest names, outputs of any kind, and damaged or newer logs without a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.cli.commands import COMMANDS
from hudkit.cli.reference import reference

Run = Callable[..., tuple[int, str, str]]
LOOKING = ("show", "log", "verify")


@pytest.fixture
def copy(log_db: Path, tmp_path: Path) -> Path:
    """A log of one's own to damage."""
    tmp_path.chmod(0o700)
    for file in log_db.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    return tmp_path / log_db.name


def alter(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute(sql).rowcount != 0
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("shwo",), "Did you mean 'show'?"),
        (("verfy", "--json"), "Did you mean 'verify'?"),
        (("xyzzy",), "The commands are: demo, replay, install"),
        (("show", "--sesions"), "Did you mean '--sessions'?"),
        (("log", "--aftr=3"), "Did you mean '--after'?"),
        (("log", "--sess"), "unrecognized arguments: --sess"),
        (("verify", "--zzz"), "hudkit verify --help"),
    ],
)
def test_the_nearest_name_is_named(hudkit: Run, argv: tuple[str, ...], said: str) -> None:
    code, out, err = hudkit(*argv)
    assert (code, out) == (2, "") and said in err


@pytest.mark.slow
def test_the_reference_names_every_command_and_option(hudkit: Run) -> None:
    page = reference()
    for name in COMMANDS:
        _, help_, _ = hudkit(name, "--help")
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        options = {word.strip(",[]()") for word in help_.split() if word.startswith(("--", "[--"))}
        for option in options - {"--help"}:
            assert f"`{option}`" in section, (name, option)
        assert "$ hudkit " + name in section


def test_a_damaged_event_is_left_out_and_named(hudkit: Run, copy: Path) -> None:
    events = len(hudkit("log", "--db", copy)[1].splitlines())
    alter(copy, "UPDATE events SET digest = x'00' WHERE session_id = 'ses_b' AND seq = 4")
    code, out, err = hudkit("log", "--db", copy)
    assert code == 1 and [int(line.split()[0]) for line in out.splitlines()] == list(range(1, events + 1))
    assert "event.gap" in out.splitlines()[3]
    assert "left out: event 4" in err and "hudkit repair" in err
    code, out, err = hudkit("show", "--db", copy)
    assert code == 1 and "SQLite, not Redis" in out and f"-- ses_b, event {events}: " in out
    assert "left out: event 4" in err and "hudkit repair" in err
    code, out, _ = hudkit("show", "--json", "--db", copy)
    assert code == 1 and json.loads(out)["seq"] == events
    code, out, err = hudkit("show", "--at", "2", "--db", copy)
    assert "-- ses_b, event 2: " in out
    assert hudkit("show", "ses_a", "--db", copy)[0] == 0, "another session is not touched"
    code, out, _ = hudkit("verify", "--json", "--db", copy)
    facts = json.loads(out)
    assert code == 1 and (facts["sessions"], facts["events"]) == (None, None)
    assert [(one["session_id"], one["seq"]) for one in facts["findings"]] == [("ses_b", 4)]


def test_what_follows_a_damaged_first_event_is_shown(hudkit: Run, copy: Path) -> None:
    alter(copy, "UPDATE events SET digest = x'00' WHERE session_id = 'ses_b' AND seq = 1")
    for name in ("show", "log"):
        code, out, err = hudkit(name, "--db", copy)
        assert code == 1 and "SQLite, not Redis" in out and "event 1" in err


def test_a_newer_log_is_not_judged(hudkit: Run, copy: Path) -> None:
    alter(copy, "PRAGMA user_version = 999")
    for name in LOOKING:
        code, out, err = hudkit(name, "--db", copy)
        assert (code, out) == (2, "") and "999" in err


@pytest.mark.parametrize("seed", range(12))
def test_any_damage_is_an_answer(hudkit: Run, copy: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(copy.read_bytes())
    at = chance.randrange(len(content))
    if seed % 3 == 0:
        del content[at:]
    elif seed % 3 == 1:
        content[at : at + 400] = chance.randbytes(400)
    else:
        content[chance.randrange(16, 100)] ^= 0xFF
    copy.write_bytes(content)
    for name in LOOKING:
        code, out, err = hudkit(name, "--db", copy)
        assert code in (0, 1, 2)
        assert "Traceback" not in err and (out or err)
        assert code != 2 or err.startswith(f"hudkit {name}: ")
    if seed % 3 == 0:
        assert hudkit("verify", "--db", copy)[0] == 1


def test_ids_are_shown_not_sent_to_the_terminal(hudkit: Run, copy: Path) -> None:
    alter(copy, "UPDATE heads SET session_id = char(27) || '[31m' || session_id")
    for argv in (("show", "--sessions"), ("show", "zzz"), ("verify",)):
        _, out, err = hudkit(*argv, "--db", copy)
        assert "\x1b" not in out + err and "[31m" in out + err


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-16"])
def test_an_output_that_cannot_show_everything(encoding: str, copy: Path) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for argv in (("demo",), ("show", "--db", str(copy)), ("config",), ("log", "--json", "--db", str(copy))):
        done = subprocess.run([sys.executable, "-m", "hudkit", *argv], env=env, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b""), argv
        text = done.stdout.decode(encoding)
        if "--json" in argv:
            assert json.loads(text.splitlines()[-1])["seq"] == 7


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_that_takes_nothing(copy: Path) -> None:
    argv = [sys.executable, "-m", "hudkit", "log", "--db", str(copy)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and b"cannot be written" in done.stderr and b"Traceback" not in done.stderr
    for words in (argv, [*argv[:3], "--help"], [*argv[:3], "log", "--help"], [*argv[:3], "help", "log"]):
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(words, stdout=theirs, stderr=subprocess.PIPE, check=False)
        os.close(theirs)
        assert (done.returncode, done.stderr) == (0, b""), "nobody reads on: `hudkit log | head`"
    done = subprocess.run(["/bin/sh", "-c", '"$@" >&-', "sh", *argv], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b""), "the caller closed it"
