"""`hudkit inspect`: a link that works, of one's own log, of a recording, and what is wrong said in one line."""

from __future__ import annotations

import html
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.cli import main
from hudkit.log.payloads import TaskSet

pytestmark = pytest.mark.slow


@contextmanager
def inspect(folder: Path, *arguments: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a person runs it, and the link that it prints."""
    command = [sys.executable, "-m", "hudkit", "inspect", *map(str, arguments)]
    env = {**os.environ, "HOME": str(folder), "HUDKIT_DATA": str(folder), "TMPDIR": str(folder)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    try:
        line = next((line for line in process.stdout if "?once=" in line), "")
        yield process, line.strip()
    finally:
        process.kill()
        process.wait()


def open_link(link: str) -> str:
    """The page behind a link, as a browser opens it."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with opener.open(link, timeout=20) as answer:
        return str(answer.read().decode())


def test_ones_own_log_is_shown_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    db = tmp_path / "hudkit.db"
    with Hud.open(db) as hud:
        hud.session("s").append(TaskSet("Mend the importer"))
    before = db.read_bytes()
    with inspect(tmp_path, "--db", db) as (process, link):
        assert "Mend the importer" in open_link(link)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None and process.stderr.read() == ""
    assert db.read_bytes() == before


def test_the_demo_is_a_log_of_its_own_that_is_gone_afterwards(tmp_path: Path) -> None:
    with inspect(tmp_path, "--demo") as (process, link):
        page = open_link(link)
        assert "Orchard planner: overlap, rain, history, frost" in page and "5 sessions" in page
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not list(tmp_path.glob("hudkit*"))


def test_a_recorded_history_is_replayed_with_the_window_that_is_given(tmp_path: Path) -> None:
    recorded = Path(__file__).parent.parent / "fixtures" / "opencode.db"
    with inspect(tmp_path, "--replay", recorded, "--window", 12_345) as (_, link):
        page = open_link(link)
        assert "12,345 tokens" in page


def test_the_commands_that_a_replay_shows_can_be_run(tmp_path: Path) -> None:
    recorded = Path(__file__).parent.parent / "fixtures" / "opencode.db"
    with inspect(tmp_path, "--replay", recorded) as (_, link):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

        def read(address: str) -> str:
            with opener.open(address, timeout=60) as answer:
                return html.unescape(answer.read().decode())

        base = link.partition("/?")[0]
        session = next(
            found
            for found in re.findall(r'href="(/session\?[^"]*)"', read(link))
            if "compactions?id=" in read(base + found)
        )
        page = read(base + session.replace("/session", "/compactions"))
        commands = dict.fromkeys(re.findall(r"<code>(hudkit [^<]*)</code>", page))
        assert len(commands) > 3 and not any("compactions undo" in command for command in commands)
        for command in list(commands)[:3]:
            words = shlex.split(command.replace("WORDS", "the"))[1:]
            env = {**os.environ, "HOME": str(tmp_path), "HUDKIT_DATA": str(tmp_path)}
            done = subprocess.run(
                [sys.executable, "-m", "hudkit", *words],
                env=env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert done.returncode == 0 and done.stdout, (command, done)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--db", "nothing.db"), "there is no log at"),
        (("--replay", "nothing.db"), "there is nothing at nothing.db"),
        (("--demo", "--host", "0.0.0.0"), "other machines"),
        (("--demo", "--port", "70000"), "is not a port"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
