"""`show`, `log` and `verify`, and the door: help, unknown commands, files that are absent or something else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit import __version__
from hudkit.cli.commands import COMMANDS
from hudkit.cli.common import SCHEMA

Run = Callable[..., tuple[int, str, str]]
OPENCODE = Path(__file__).parent.parent / "fixtures" / "opencode.db"
LOOKING = ("show", "log", "verify")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_exit_codes(hudkit: Run, name: str) -> None:
    code, out, err = hudkit(name, "--help")
    assert (code, err) == (0, "")
    assert f"example: hudkit {name}" in out and "exit codes: 0" in out
    talks = ("acp", "serve", "stop", "chat", "mcp", "rooms", "help", "completion", "inspect", "hook", "statusline")
    assert "--json" in out or name in talks, "where a command prints facts, it prints them as JSON too"
    assert "\x1b" not in out


def test_the_door(hudkit: Run) -> None:
    code, out, _ = hudkit()
    assert code == 0
    for name, words in COMMANDS.items():
        assert name in out and words.split()[0] in out
    assert hudkit("--version") == (0, f"hudkit {__version__}\n", "")
    code, out, err = hudkit("shwo")
    assert (code, out) == (2, "")
    assert "'shwo'" in err and "show" in err
    code, _, err = hudkit("show", "--no-such-option")
    assert code == 2 and "--no-such-option" in err


@pytest.mark.parametrize("name", LOOKING)
def test_a_log_that_is_not_there(hudkit: Run, name: str, tmp_path: Path) -> None:
    missing = tmp_path / "none.db"
    code, out, err = hudkit(name, "--db", missing)
    assert (code, out) == (2, "")
    assert str(missing) in err and "--db" in err
    assert not missing.exists(), "looking makes no file"


@pytest.mark.parametrize("name", LOOKING)
def test_a_file_that_is_no_log(hudkit: Run, name: str, tmp_path: Path) -> None:
    """`show` and `log` cannot do anything with it; to `verify` it is a finding."""
    text = tmp_path / "notes.txt"
    text.write_text("not a database, " * 100)
    text.chmod(0o600)
    foreign = tmp_path / "opencode.db"
    shutil.copy(OPENCODE, foreign)
    foreign.chmod(0o600)
    before = foreign.read_bytes()
    for path in (text, foreign):
        code, out, err = hudkit(name, "--db", path)
        if name == "verify":
            assert (code, err) == (1, "") and out.startswith("BAD   file") and str(path) in out
        else:
            assert (code, out) == (2, "")
            assert err.startswith(f"hudkit {name}: ") and str(path) in err
    assert foreign.read_bytes() == before


def test_show(hudkit: Run, log_db: Path) -> None:
    code, out, err = hudkit("show", "--db", log_db)
    assert (code, err) == (0, "")
    assert "Ship the second" in out and "SQLite, not Redis" in out and "25% (50k/200k)" in out
    assert "-- ses_b, event 7: " in out and "\x1b" not in out
    code, out, _ = hudkit("show", "ses_a", "--db", log_db)
    assert code == 0 and "The first task" in out
    code, out, _ = hudkit("show", "b", "--at", 1, "--db", log_db)
    assert code == 0 and "Ship the second" in out and "SQLite" not in out


def test_show_as_json(hudkit: Run, log_db: Path) -> None:
    code, out, _ = hudkit("show", "--json", "--db", log_db)
    facts = json.loads(out)
    assert code == 0 and facts["schema"] == SCHEMA == 1
    assert (facts["session"], facts["seq"]) == ("ses_b", 7)
    assert "SQLite, not Redis" in facts["frame"]["text"]
    code, out, _ = hudkit("show", "--state", "--json", "--db", log_db)
    facts = json.loads(out)
    assert facts["schema"] == SCHEMA and facts["state"]["task"]["description"] == "Ship the second"


def test_show_sessions(hudkit: Run, log_db: Path) -> None:
    code, out, _ = hudkit("show", "--sessions", "--json", "--db", log_db)
    assert code == 0
    facts = json.loads(out)
    assert facts["schema"] == SCHEMA
    assert [(one["id"], one["events"]) for one in facts["sessions"]] == [("ses_a", 1), ("ses_b", 7)]
    assert set(facts["sessions"][0]) == {"id", "events", "title", "host", "directory", "last"}
    code, out, _ = hudkit("show", "--sessions", "--db", log_db)
    assert code == 0 and [line.split()[-1] for line in out.splitlines()] == ["ses_a", "ses_b"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("show", "--at", "99"), "has no event 99"),
        (("show", "ses_x"), "no sessions match 'ses_x'"),
        (("show", "ses"), "2 sessions match 'ses'"),
        (("log", "nobody"), "Sessions: ses_a, ses_b"),
        (("log", "--type", "nosuch"), "no event type begins with 'nosuch'. Types: blocker, "),
        (("log", "--type", "decision.recrod"), "Types: decision.record"),
    ],
)
def test_what_is_not_in_the_log(hudkit: Run, log_db: Path, argv: tuple[str, ...], words: str) -> None:
    code, out, err = hudkit(*argv, "--db", log_db)
    assert (code, out) == (2, "")
    assert words in err


def test_log(hudkit: Run, log_db: Path) -> None:
    code, out, _ = hudkit("log", "--db", log_db)
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines] == [str(n) for n in range(1, 8)]
    assert "task.set" in lines[0] and "Ship the second" in lines[0] and "2026-11-18" in lines[0]
    assert "\x1b" not in out, "what a note holds is shown, not sent to the terminal"
    code, out, _ = hudkit("log", "--after", 3, "--type", "step", "--db", log_db)
    assert [line.split()[0] for line in out.splitlines()] == ["4", "5"]
    assert hudkit("log", "--type", "blocker.remove", "--db", log_db)[:2] == (0, ""), "there could be such an event"


def test_log_as_json_is_one_object_a_line(hudkit: Run, log_db: Path) -> None:
    code, out, _ = hudkit("log", "--json", "--db", log_db)
    events = [json.loads(line) for line in out.splitlines()]
    assert code == 0 and {event["schema"] for event in events} == {SCHEMA}
    assert [event["seq"] for event in events] == list(range(1, 8))
    assert events[1]["type"] == "decision.record" and events[1]["payload"] == {"summary": "SQLite, not Redis"}
    assert events[2]["payload"]["content"] == "line one\n\x1b[31mred"


def test_verify(hudkit: Run, log_db: Path, tmp_path: Path) -> None:
    code, out, _ = hudkit("verify", "--db", log_db)
    assert code == 0 and out.startswith("fine: 8 events in 2 sessions")
    code, out, _ = hudkit("verify", "--json", "--db", log_db)
    assert json.loads(out) == {"schema": SCHEMA, "sessions": 2, "events": 8, "findings": []}


def test_verify_names_a_changed_event(hudkit: Run, log_db: Path, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    for file in log_db.parent.iterdir():
        shutil.copy(file, tmp_path / file.name)
    copy = tmp_path / log_db.name
    connection = sqlite3.connect(copy)
    changed = connection.execute(
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'SQLite', 'Oracle') AS BLOB) "
        "WHERE session_id = 'ses_b' AND seq = 2"
    ).rowcount
    connection.commit()
    connection.close()
    assert changed == 1
    code, out, _ = hudkit("verify", "--db", copy)
    assert code == 1 and out.startswith("BAD") and "session ses_b, event 2" in out
    code, out, _ = hudkit("verify", "--json", "--db", copy)
    found = json.loads(out)["findings"]
    assert code == 1 and (found[0]["session_id"], found[0]["seq"]) == ("ses_b", 2)


def test_the_log_is_named_by_the_environment(hudkit: Run, log_db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUDKIT_DB", str(log_db))
    code, out, _ = hudkit("verify")
    assert code == 0 and "8 events" in out
