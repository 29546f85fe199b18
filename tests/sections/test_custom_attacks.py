"""Attacks on the sandbox: each is inert within its limits, and the next program runs as if nothing had been."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from hudkit.sections.sandboxed import SandboxError, SandboxLimits, SandboxProcess, processor_seconds

pytestmark = pytest.mark.slow

monty = pytest.importorskip("pydantic_monty")

TIME = r"ran too long"
MEMORY = r"used too much memory"
EITHER = r"ran too long|used too much memory|ended its process"


def test_the_process_writes_nothing_on_the_terminal() -> None:
    """Where its memory ends before its limit does, it says so on its error stream, which was ours.

    In a process of its own, whose error stream is a pipe: to a file the sandbox may write nothing anyway.
    """
    program = (
        "import os, sys\n"
        "from hudkit.sections.sandboxed import SandboxError, SandboxLimits, SandboxProcess\n"
        "with SandboxProcess(SandboxLimits(time=60.0, memory=1 << 30)) as sandbox:\n"
        "    for source in sys.argv[1:]:\n"
        "        try: sandbox.run(source, {})\n"
        "        except SandboxError as error: print(error)\n"
        "print('written by us', file=sys.stderr)\n"
        "print(os.get_inheritable(2))\n"
    )
    sources = [ATTACKS[name][0] for name in ("text that doubles", "a padded number", "a padded text")]
    done = subprocess.run([sys.executable, "-c", program, *sources], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["used too much memory"] * 3 + ["True"]
    assert done.stderr == "written by us\n"


def body(*lines: str) -> str:
    return "def section():\n" + "".join(f"    {line}\n" for line in lines)


ATTACKS = {
    "an endless loop": (body("while True: pass"), TIME),
    "a loop that catches its end": (
        body("while True:", "    try:", "        while True: pass", "    except BaseException: pass"),
        TIME,
    ),
    "a loop at the top": ("while True: pass\n", TIME),
    "text that doubles": (body("s = 'x'", "for _ in range(60): s = s + s", "return len(s)"), MEMORY),
    "text times a number": (body("return len('x' * 10**10)"), MEMORY),
    "a list times a number": (body("return len([0] * 10**10)"), MEMORY),
    "text that replaces itself": (
        body("s = 'a' * 10000", "for _ in range(4): s = s.replace('a', 'a' * 10000)", "return s"),
        EITHER,
    ),
    "memory whose end is caught": (
        body("x = []", "while True:", "    try: x.append('y' * 10**6)", "    except BaseException: pass"),
        EITHER,
    ),
    "numbers that square": (body("x = 7", "for _ in range(40): x = x * x", "return x > 0"), EITHER),
    "a power": (body("return 10 ** (10 ** 9) > 0"), EITHER),
    "a number as text": (body("return int('9' * 10**6)"), r"Exceeds the limit"),
    "endless calls": (body("return section()"), r"RecursionError"),
    "a deep list": (body("x = []", "while True: x = [x]"), EITHER),
    "a list in itself": (body("a = []", "a.append(a)", "return a"), r"Circular reference|RecursionError"),
    "a small list that is written large": (
        body("a = []", "for _ in range(60): a = [a, a]", "return a"),
        f"{EITHER}|RecursionError|Recursion",
    ),
    "a padded number": (body("return len('%999999999d' % 1)"), EITHER),
    "a padded text": (body("return len('{:>999999999}'.format(1))"), EITHER),
    "a padded f-string": (body("x = 1", "return len(f'{x:999999999}')"), EITHER),
    "a pattern that backtracks": (
        body("import re", "return bool(re.match(r'(a|a)*\\1b', 'a' * 60))"),
        r"backtracking|ran",
    ),
    "output without end": (body("return 'x' * 1_000_000"), r"returned too much"),
    "a limit of its own": ("_most = 10**9\n" + body("return 'x' * 1_000_000"), r"returned too much"),
    "a count of its own": ("def len(x): return 10**5000\n" + body("return 'x'"), r"returned too much"),
    "prints without end": (body("while True: print('x' * 1000)"), TIME),
    "a file": (body("return open('/etc/passwd').read()"), r"PermissionError"),
    "a file by its path": (
        body("from pathlib import Path", "return Path('/etc/passwd').read_text()"),
        r"PermissionError",
    ),
    "a file to write": (body("open('/tmp/x', 'w').write('x')"), r"PermissionError"),
    "a directory": (body("import os", "return os.listdir('/')"), r"PermissionError"),
    "the environment": (body("import os", "return dict(os.environ)"), r"not supported"),
    "one variable": (body("import os", "return os.getenv('HOME')"), r"not supported"),
    "a shell": (body("import os", "os.system('id')"), r"AttributeError|not supported"),
    "subprocess": (body("import subprocess"), r"ModuleNotFoundError"),
    "socket": (body("import socket"), r"ModuleNotFoundError"),
    "ctypes": (body("import ctypes"), r"ModuleNotFoundError"),
    "importlib": (body("import importlib"), r"ModuleNotFoundError"),
    "__import__": (body("return __import__('os').getcwd()"), r"NameError"),
    "subclasses": (body("return str(().__class__.__base__.__subclasses__())"), r"AttributeError"),
    "globals of a function": (body("return str(section.__globals__)"), r"AttributeError"),
    "frames": (body("import sys", "return str(sys._getframe())"), r"AttributeError"),
    "builtins": (body("return str(__builtins__)"), r"NameError"),
    "an answer of its own": (body("return input()"), r"NameError"),
    "an exit": (body("raise SystemExit(0)"), r"SystemExit|Internal error"),
    "an interrupt": (body("raise KeyboardInterrupt"), r"KeyboardInterrupt"),
    "a long error": (body("raise ValueError('x' * 10**6)"), r"^ValueError: x+…"),
    "an error with a terminal's codes": (body(r"raise ValueError('\x1b[2J\nTask: other')"), r"^[^\x1b\n]+$"),
    "deep brackets": ("(" * 100_000 + ")" * 100_000, r"nested|SyntaxError|recursion"),
    "deep minus signs": (body("return " + "-" * 5_000 + "1"), r"nested|SyntaxError|Recursion"),
    "an open string": ("def section(): return '''", r"SyntaxError"),
    "an open bracket": ("def section(): return (", r"SyntaxError"),
    "a module that is changed": ("import math\nmath.pi = 3\ndef section(): return 1\n", r"AttributeError"),
    "a NUL": ("def section():\n    return '\x00'\n\x00", r"SyntaxError"),
    "no section": ("x = 1\n", r"NameError: name 'section' is not defined"),
    "a section that is no function": ("section = 1\n", r"TypeError"),
    "the wrong arguments": ("def section(steps): return 1\n", r"TypeError"),
    "what is not a plain value": (body("return lambda: 1"), r"TypeError"),
    "a set": (body("return {1, 2}"), r"TypeError"),
    "json of its own": (
        "import json\njson.dumps = lambda *_: 7\ndef section(): return 1\n",
        r"AttributeError",
    ),
    "a sleep": (body("import time", "time.sleep(3600)", "while True: pass"), TIME),
    "dependencies": (body("import numpy"), r"ModuleNotFoundError"),
}  # fmt: skip


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxProcess]:
    with SandboxProcess() as one:
        yield one


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_inert(sandbox: SandboxProcess, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    source, said = ATTACKS[name]
    with pytest.raises(SandboxError, match=said) as caught:
        sandbox.run(source, {})
    assert len(caught.value.message) <= 160 and "\n" not in caught.value.message
    assert sandbox.run(body("return 'fine'"), {}) == '"fine"'
    assert capfd.readouterr() == ("", "")


def test_one_program_leaves_nothing_to_the_next(sandbox: SandboxProcess) -> None:
    left = "kept = [1]\njsx = None\ndef section():\n    global seen\n    seen = 1\n    return 1\n"
    assert sandbox.run(left, {}) == "1"
    with pytest.raises(SandboxError, match="NameError: name 'kept'"):
        sandbox.run(body("return kept"), {})
    with pytest.raises(SandboxError, match="NameError: name 'seen'"):
        sandbox.run(body("return seen"), {})
    assert sandbox.run(body("return jsx('<rule />')"), {}) == '{"jsx": "<rule />", "values": {}}'


def test_the_same_gives_the_same(sandbox: SandboxProcess) -> None:
    source = body(
        "import random, time",
        "from datetime import datetime, date",
        "return [random.random(), time.time(), str(datetime.now()), str(date.today()), hash('a')]",
    )
    with SandboxProcess() as other:
        assert sandbox.run(source, {}) == sandbox.run(source, {}) == other.run(source, {})


def test_what_is_given_is_a_copy(sandbox: SandboxProcess) -> None:
    steps = [{"description": "a"}]
    assert sandbox.run("def section(steps):\n    steps[0]['description'] = 'b'\n    return steps\n", {"steps": steps})
    assert steps == [{"description": "a"}]


def test_the_limits_are_those_that_were_asked_for() -> None:
    source = body("return len('x' * 8_000_000)")
    with (
        SandboxProcess(SandboxLimits(memory=4 << 20)) as narrow,
        SandboxProcess(SandboxLimits(memory=64 << 20, time=2.0)) as wide,
    ):
        with pytest.raises(SandboxError, match=MEMORY):
            narrow.run(source, {})
        assert wide.run(source, {}) == "8000000"


def test_a_program_that_a_busy_machine_kept_waiting_runs_again() -> None:
    read: list[int] = []

    def stands_still(pid: int) -> float:
        read.append(pid)
        return 0.0

    with SandboxProcess(processor_clock=stands_still) as kept_waiting, pytest.raises(SandboxError, match=TIME):
        kept_waiting.run(ATTACKS["an endless loop"][0], {})
    tries = 3
    assert len(read) == 2 * tries
    seconds = count()
    with SandboxProcess(processor_clock=lambda _: next(seconds)) as ran, pytest.raises(SandboxError, match=TIME):
        ran.run(ATTACKS["an endless loop"][0], {})
    assert next(seconds) == 2, "one try"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another process's clock is read on Linux only")
def test_the_processor_clock_of_another_process_goes_while_it_runs() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert 0.0 <= processor_seconds(process.pid) < float("inf")
        process.communicate(b"\n")
    assert processor_seconds(process.pid) == float("inf"), "a process that is gone has no clock"


@pytest.mark.skipif(sys.platform == "win32", reason="its program is a script of the shell")
def test_a_process_that_starts_slowly_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("monty", path=Path(sys.executable).parent)
    slow = tmp_path / "monty"
    slow.write_text(f'#!/bin/sh\nsleep 0.4\nexec "{program}" "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("MONTY_BIN", str(slow))
    with SandboxProcess() as sandbox:
        assert sandbox.run(body("return 1"), {}) == "1"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process are read in /proc")
def test_the_process_has_limits_of_the_system_and_ends_with_the_sandbox() -> None:
    def children() -> set[int]:
        task = Path(f"/proc/{os.getpid()}/task")
        return {int(pid) for one in task.iterdir() for pid in (one / "children").read_text().split()}

    before = children()
    sandbox = SandboxProcess()
    sandbox.run(body("return 1"), {})
    (pid,) = children() - before
    limits = Path(f"/proc/{pid}/limits").read_text()
    rows = {line[:25].strip(): line[26:].split()[:2] for line in limits.splitlines()}
    assert rows["Max address space"] == [str(1 << 29)] * 2
    assert rows["Max file size"] == rows["Max core file size"] == ["0", "0"]
    sandbox.close()
    assert pid not in children()
    assert sandbox.run(body("return 2"), {}) == "2", "it opens again"
    sandbox.close()
