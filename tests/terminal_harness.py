"""A project with sessions of its own, the command in this process, in a process of its own, and in a real tmux."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hudkit.agent.records import StoredMessage, find_faults
from hudkit.agent.session_store import SessionStore
from waiting import PATIENCE, until

Run = Callable[..., tuple[int, str, str]]


class Desk:
    """A place to work in: `project` is the current directory, `data` has the sessions, `env` the environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.data = folder / "data"
        self.config = folder / "config" / "config.toml"
        for one in (self.project, self.config.parent):
            one.mkdir()
        keep = {"PATH", "LANG", "LC_ALL", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV", "HUDKIT_TEST_RUN"}
        self.env = {name: value for name, value in os.environ.items() if name in keep}
        self.env |= {
            "HOME": str(folder),
            "HUDKIT_DATA": str(self.data),
            "HUDKIT_CONFIG": str(self.config),
            "LC_ALL": "C.UTF-8",
            "TERM": "xterm-256color",
        }
        self.config.write_text("")

    def script(self, *answers: dict[str, Any]) -> Path:
        """A script of these answers, as JSON lines."""
        path = self.folder / "script.jsonl"
        path.write_text("".join(f"{json.dumps(one)}\n" for one in answers))
        return path

    def argv(self, command: str, *more: object) -> list[str]:
        return [sys.executable, "-m", "hudkit", command, *map(str, more)]

    def start(self, command: str, *more: object, **given: Any) -> subprocess.Popen[str]:
        """The command in a process of its own, with pipes."""
        pipe = subprocess.PIPE
        given = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **given}
        return subprocess.Popen(self.argv(command, *more), cwd=self.project, env=self.env, **given)

    def piped(self, command: str, *more: object, stdin: str = "") -> tuple[int, str, str]:
        """The same until it ends: its code and what it printed."""
        child = self.start(command, *more)
        out, err = child.communicate(stdin, timeout=PATIENCE)
        return child.returncode, out, err

    def messages(self) -> tuple[StoredMessage, ...]:
        """The messages of the newest session, which must be a valid transcript as soon as its last answer is stored:
        it is on the screen before."""
        found: tuple[StoredMessage, ...] = ()

        def is_valid() -> bool:
            nonlocal found
            with SessionStore.open(self.data / "sessions.db", read_only=True) as store:
                newest = [one for one in store.sessions() if not one.parent_id][-1]
                found = tuple(store.messages(newest.id))
            return find_faults(found) == ()

        until(is_valid, "the transcript is not valid")
        return found


class Tmux:
    """A real terminal of 80 columns with a shell in it."""

    def __init__(self, desk: Desk, columns: int = 80, rows: int = 50) -> None:
        self._socket = desk.folder / "tmux"
        shell = "exec env -u TMUX PS1='$ ' bash --norc --noprofile -i"
        self._call(
            "-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, shell, env=desk.env, at=desk.project
        )

    def type(self, *keys: str) -> None:
        """Keys by tmux's names; other words are typed as they are."""
        self._call("send-keys", *keys)

    def run(self, argv: list[str]) -> None:
        """A command line, whose end is seen by its exit code."""
        self.type(f"clear; {shlex.join(argv)}; echo code=$?", "Enter")

    def wait(self, *words: str, gone: str = "", seconds: float = PATIENCE) -> str:
        """What is on the screen, scrolled-off lines included, once it has all these words, in this order."""
        pattern = re.compile(".*".join(map(re.escape, words)), re.DOTALL)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            text = self.text()
            if pattern.search(text) and not (gone and gone in text):
                return text
            time.sleep(0.05)
        raise AssertionError(f"{words} did not come:\n{self.text()}")

    def text(self, *, colours: bool = False) -> str:
        return self._call("capture-pane", "-p", "-S", "-", "-J", *(("-e",) if colours else ())).rstrip()

    def screen(self) -> str:
        """What is on the screen now, without what has scrolled off."""
        return self._call("capture-pane", "-p").rstrip()

    def lines(self) -> list[str]:
        """The screen's lines as they stand, none joined."""
        return self._call("capture-pane", "-p", "-S", "-").rstrip().split("\n")

    def resize(self, columns: int, rows: int) -> None:
        self._call("resize-window", "-x", columns, "-y", rows)

    def close(self) -> None:
        self._call("kill-server")

    def _call(self, *words: object, env: dict[str, str] | None = None, at: Path | None = None) -> str:
        argv = ["tmux", "-S", str(self._socket), *map(str, words)]
        done = subprocess.run(argv, env=env, cwd=at, capture_output=True, text=True, check=True, timeout=PATIENCE)
        return done.stdout


@contextmanager
def open_tmux(desk: Desk) -> Iterator[Tmux]:
    """A terminal with its shell ready, until the block ends. Skips the test where there is no tmux, but in CI."""
    if shutil.which("tmux") is None:
        if os.environ.get("CI"):
            pytest.fail("CI needs tmux")
        pytest.skip("tmux is not on PATH")
    terminal = Tmux(desk)
    try:
        terminal.wait("$")
        yield terminal
    finally:
        terminal.close()


def facts(out: str) -> list[dict[str, Any]]:
    """JSON lines, each of which has the schema's version."""
    found = [msgspec.json.decode(line) for line in out.splitlines()]
    assert {one["schema"] for one in found} == {1}
    return found
