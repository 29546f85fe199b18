"""`hudkit backup`, `restore` and `repair`: also while a daemon runs, which is asked to end where it is in the way."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hudkit import Hud
from hudkit.daemon.client import ensure_running, greet, stop

pytestmark = pytest.mark.slow

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with one session of five notes."""
    path = tmp_path / "data" / "hudkit.db"
    with Hud.open(path) as hud:
        for number in range(1, 6):
            hud.session("ses_1").call("notes.add", {"content": f"note {number}"})
    return path


def damage(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET body = CAST(replace(body, 'note 2', 'note 9') AS BLOB) WHERE seq = 2")
    db.close()


def test_a_backup_is_made_listed_and_restored(hudkit: Run, log: Path) -> None:
    made = json.loads(hudkit("backup", "--db", log, "--json")[1])
    assert json.loads(hudkit("backup", "--list", "--db", log, "--json")[1])["backups"] == [
        {"file": made["file"], "bytes": made["bytes"]}
    ]
    with Hud.open(log) as hud:
        hud.session("ses_1").call("notes.add", {"content": "later"})
    code, out, _ = hudkit("restore", "--db", log)
    assert code == 0 and "the log as it was: " in out
    assert "later" not in hudkit("show", "--db", log)[1] and "note 5" in hudkit("show", "--db", log)[1]
    kept = out.partition("the log as it was: ")[2].strip()
    assert hudkit("restore", kept, "--db", log)[0] == 0 and "later" in hudkit("show", "--db", log)[1]
    assert hudkit("restore", log.parent / "nothing.db", "--db", log)[0] == 2


def test_no_backup_of_a_damaged_log_pushes_one_out(hudkit: Run, log: Path) -> None:
    assert hudkit("backup", "--db", log)[0] == 0
    damage(log)
    code, out, err = hudkit("backup", "--db", log)
    assert (code, out) == (2, "") and "no backup was made" in err and "hudkit repair" in err
    assert len(json.loads(hudkit("backup", "--list", "--db", log, "--json")[1])["backups"]) == 1


def test_a_repair_lists_what_it_drops(hudkit: Run, log: Path) -> None:
    assert "nothing to repair" in hudkit("repair", "--db", log)[1]
    damage(log)
    code, out, _ = hudkit("repair", "--dry-run", "--db", log)
    assert code == 1 and "would be lost: ses_1, event 2 (note.add)" in out
    facts = json.loads(hudkit("repair", "--db", log, "--json")[1])
    assert facts["events"] == 4 and [(one["session"], one["seq"]) for one in facts["lost"]] == [("ses_1", 2)]
    assert hudkit("verify", "--db", log)[0] == hudkit("show", "--db", log)[0] == 0
    assert "event.gap" in hudkit("log", "--db", log)[1].splitlines()[1]


def test_redacting_goes_on_behind_a_damaged_event(hudkit: Run, log: Path, tmp_path: Path) -> None:
    damage(log)
    (tmp_path / "text").write_text("note 4")
    out = hudkit("redact", "--text-file", tmp_path / "text", "--db", log)[1]
    assert "redacted: ses_1: 1 note.add" in out
    assert hudkit("redact", "5", "--session", "ses_1", "--db", log)[0] == 0


def test_a_lost_tail_is_told_once_and_shown(hudkit: Run, tmp_path: Path) -> None:
    source, copy = tmp_path / "source" / "hudkit.db", tmp_path / "copy" / "hudkit.db"
    with Hud.open(source) as hud:
        for number in range(1, 6):
            hud.session("ses_1").call("notes.add", {"content": f"note {number}"})
        shutil.copytree(source.parent, copy.parent)
    copy.with_name("hudkit.db-shm").unlink()
    log_file = copy.with_name("hudkit.db-wal")
    log_file.write_bytes(log_file.read_bytes()[: log_file.stat().st_size // 2])
    with Hud.open(copy) as hud:
        session = hud.session("ses_1")
        first = session.frame(used_tokens=1_000, limit_tokens=200_000, transcript=[("m1", "user"), ("m2", "tool")])
        assert "recorded events were lost" in first.tail, "at once, also within a turn"
        assert "lost" not in session.frame(used_tokens=1_100, limit_tokens=200_000, transcript=[("m1", "user")]).tail
        seq = session.state.window.call_seq
        assert hud.session("ses_2").frame(used_tokens=1_000, limit_tokens=200_000).tail.count("lost") == 0
    with Hud.open(copy) as hud:
        session = hud.session("ses_1")
        assert "lost" not in session.frame(used_tokens=1_200, limit_tokens=200_000).tail, (
            "once, also in a new process"
        )
        assert session.frame_at(seq).tail, "and the frames before are what they were"
    code, _, err = hudkit("show", "ses_1", "--db", copy)
    assert code == 0 and "recorded events were lost: event" in err


def test_a_daemon_in_the_way_is_asked_to_end(hudkit: Run, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory(prefix="hk") as directory:
        socket = Path(directory) / "d.sock"
        monkeypatch.setenv("HUDKIT_SOCKET", os.fspath(socket))
        damage(log)
        daemon = ensure_running(socket, db=log)
        try:
            code, _, err = hudkit("repair", "--db", log)
            assert code == 0, err
            there = greet(socket)
            assert there is None or there.pid != daemon.pid
            daemon = ensure_running(socket, db=log)
            assert hudkit("backup", "--db", log)[0] == 0 and greet(socket) is not None, "a backup needs no end"
            code, _, err = hudkit("restore", "--db", log)
            assert code == 0, err
        finally:
            stop(socket)
    assert hudkit("verify", "--db", log)[0] == 0
