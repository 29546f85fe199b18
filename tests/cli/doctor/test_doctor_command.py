"""`hudkit doctor` as a command: exit codes, JSON, what `--fix` does and leaves, and what a report does not hold."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import jsonschema
import pytest
from doctor_home import Home, Run

import hudkit
from hudkit.cli.checks import Check, Verdict, read_environment, report
from hudkit.daemon.client import greet
from hudkit.paths import data_directory
from waiting import PATIENCE, until

pytestmark = pytest.mark.slow

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema", "version", "verdict", "checks", "mended"],
    "properties": {
        "schema": {"const": 1},
        "version": {"const": hudkit.__version__},
        "verdict": {"enum": ["pass", "warn", "fail"]},
        "mended": {"type": "array", "items": {"type": "string"}},
        "checks": {
            "type": "array",
            "minItems": 10,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name", "verdict", "words", "hint"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "verdict": {"enum": ["pass", "warn", "fail"]},
                    "words": {"type": "string", "minLength": 1},
                    "hint": {"type": "string"},
                },
            },
        },
    },
}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def dead_socket(path: Path) -> None:
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(path))
    path.chmod(0o600)


def test_exit_codes(home: Home, doctor: Run) -> None:
    code, out, err = doctor()
    assert (code, err) == (0, "") and out.splitlines()[-1].endswith("pass, 0 warn, 0 fail")
    home.program("1.99.0")
    code, out, _ = doctor()
    assert code == 1 and "\nWARN  opencode " in out
    home.db.write_bytes(b"x" * 5000)
    code, out, _ = doctor()
    assert code == 2 and "\nFAIL  log " in out and "\nWARN  opencode " in out


@pytest.mark.parametrize("broken", [False, True])
def test_json_is_as_its_schema_says(home: Home, doctor: Run, broken: bool) -> None:
    if broken:
        home.data.chmod(0o777)
    code, out, _ = doctor("--json")
    facts = json.loads(out)
    jsonschema.validate(facts, SCHEMA)
    assert (code, facts["verdict"]) == ((2, "fail") if broken else (0, "pass"))


def test_json_and_report_are_two_things(bare: Home, doctor: Run) -> None:
    assert doctor("--json", "--report")[0] == 2


def test_looking_changes_nothing(home: Home, doctor: Run) -> None:
    dead_socket(home.socket)
    home.db.chmod(0o644)
    before = {path: (mode(path), path.lstat().st_mtime_ns) for path in home.root.rglob("*") if path.is_file()}
    assert doctor()[0] == 1
    after = {path: (mode(path), path.lstat().st_mtime_ns) for path in home.root.rglob("*") if path.is_file()}
    assert before.items() <= after.items()
    assert {path.name for path in after.keys() - before.keys()} <= {"hudkit.db-wal", "hudkit.db-shm"}
    assert home.socket.exists()


def test_fix_makes_ours_private(home: Home, doctor: Run) -> None:
    dead_socket(home.socket)
    home.data.chmod(0o777)
    home.socket.parent.chmod(0o755)
    files = [home.db, home.data / "install/opencode.json", home.data / "plugins/opencode/hudkit.js"]
    for path in files:
        path.chmod(0o666)
    code, out, _ = doctor("--fix")
    assert code == 0, out
    assert mode(home.data) == mode(home.socket.parent) == 0o700
    assert [mode(path) for path in files] == [0o600] * 3
    assert out.count("is now 700") == 2 and out.count("is now 600") == 3
    assert not home.socket.exists() and f"removed {home.socket}" in out
    code, out, _ = doctor("--fix")
    assert code == 0 and "DONE" not in out, "there is nothing left to mend"


def test_the_platforms_own_directory_is_made_private_whatever_is_in_it(
    home: Home, doctor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HUDKIT_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(home.root / "platform"))
    data = data_directory()
    assert data.is_relative_to(home.root)
    data.mkdir(parents=True, exist_ok=True)
    (data / "diary.txt").touch()
    data.chmod(0o777)
    code, out, _ = doctor("--fix")
    assert mode(data) == 0o700 and f"DONE  {data}: mode 777 is now 700" in out, out
    assert code < 2 and "LEFT" not in out


def test_fix_leaves_what_may_not_be_ours(home: Home, doctor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.data / "diary.txt").touch(0o644)
    home.data.chmod(0o755)
    shared = home.root / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    (shared / "file").touch()
    monkeypatch.setenv("HUDKIT_SOCKET", str(shared / "d.sock"))
    link = home.root / "secret"
    link.touch()
    link.chmod(0o644)
    (home.data / "token").symlink_to(link)
    code, out, _ = doctor("--fix")
    assert code == 2
    assert (mode(home.data), mode(shared), mode(link)) == (0o755, 0o755, 0o644)
    assert out.count("it may hold more than what is hudkit's") == 2


def test_fix_removes_no_socket_that_is_in_use(home: Home, doctor: Run) -> None:
    home.socket.parent.mkdir(mode=0o700)
    with closing(socket.socket(socket.AF_UNIX)) as one:
        one.bind(str(home.socket))
        one.listen(8)
        home.socket.chmod(0o666)
        code, out, _ = doctor("--fix")
        assert home.socket.exists() and mode(home.socket) == 0o600
        assert code == 2 and "removed" not in out


def test_fix_leaves_a_file_in_the_place_of_the_socket(home: Home, doctor: Run) -> None:
    home.socket.parent.mkdir(mode=0o700)
    home.socket.write_text("mine")
    assert doctor("--fix")[0] == 2
    assert home.socket.read_text() == "mine"


def test_fix_replaces_an_older_daemon(home: Home, doctor: Run) -> None:
    code = (
        "import sys, hudkit; hudkit.__version__ = '0.0.1'; from hudkit.daemon.lifecycle import main; sys.exit(main())"
    )
    old = subprocess.Popen([sys.executable, "-c", code, "--socket", str(home.socket), "--db", str(home.db)])
    try:
        until(lambda: greet(home.socket) is not None or old.poll() is not None)
        assert old.poll() is None
        status, out, _ = doctor()
        assert status == 1 and "version 0.0.1" in out and "older than this hudkit" in out
        status, out, _ = doctor("--fix")
        there = greet(home.socket)
        assert status == 0 and there is not None and there.version == hudkit.__version__
        assert "DONE  replaced the daemon of version 0.0.1" in out and f"process {there.pid}" in out
        assert old.wait(PATIENCE) == 0
    finally:
        old.kill()
        old.wait()
        there = greet(home.socket)
        if there is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(there.pid, signal.SIGTERM)
            until(lambda: not home.socket.exists())


SECRET = "sk-" + "Ab3dEf6hIj" * 3


def test_a_report_has_nothing_private(home: Home, doctor: Run) -> None:
    home.settings.parent.mkdir(parents=True)
    home.settings.write_text(f'window = "{SECRET}"\n')
    (home.project / "opencode.json").write_text(json.dumps({"plugin": [f"https://x/memory#api_key={SECRET}"]}))
    dead_socket(home.socket)
    code, out, _ = doctor("--report", "--fix")
    assert code == 1
    assert hudkit.__version__ in out and "Python 3." in out and "WARN  settings" in out and "DONE  removed ~/" in out
    assert str(home.root) not in out and os.path.realpath(home.root) not in out
    assert SECRET not in out and "[redacted:" in out
    assert "comet" not in out and "ses_1" not in out
    assert "<directory>" in out or str(home.project) not in out


def test_a_report_hides_whole_names_only(home: Home) -> None:
    here = read_environment(home.project)

    def reported(words: str) -> str:
        return report((Check("name", Verdict.PASS, words),), here).splitlines()[-1].removeprefix("PASS  name: ")

    assert reported(f"{home.root}/a {home.root}2/b {home.root}") == f"~/a {home.root}2/b ~"
    assert reported(f"{home.project}/x.py") == "<directory>/x.py"
    assert reported('api_key = "hunter2hunter2"') == 'api_key = "[redacted:secret]"'
    assert reported("nothing here") == "nothing here"


def test_help_tells_its_own_exit_codes(doctor: Run) -> None:
    code, out, _ = doctor("--help")
    assert code == 0 and "1 there are warnings, 2 something fails" in out


def test_the_directory_was_removed(bare: Home, doctor: Run) -> None:
    bare.project.rmdir()
    assert doctor()[0] == 1
    bare.project.mkdir()
