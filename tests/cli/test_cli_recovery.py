"""`hudkit backup`, `restore` and `repair`: also while a daemon runs, which is asked to end where it is in the way."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from hudkit import Hud
from hudkit.agent import RequestLog, SessionStore
from hudkit.agent.records import StoredProject
from hudkit.daemon.client import ensure_running, greet, stop
from hudkit.paths import own_files

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
    assert code == 0 and "what was there: " in out
    assert "later" not in hudkit("show", "--db", log)[1] and "note 5" in hudkit("show", "--db", log)[1]
    kept = out.partition("what was there: ")[2].strip()
    assert hudkit("restore", kept, "--db", log)[0] == 0 and "later" in hudkit("show", "--db", log)[1]
    assert hudkit("restore", log.parent / "nothing.db", "--db", log)[0] == 2


@pytest.fixture
def data(tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory of a user, with the log, the agent's databases and a world."""
    monkeypatch.delenv("HUDKIT_DB", raising=False)
    monkeypatch.setenv("HUDKIT_DATA", str(log.parent))
    monkeypatch.setenv("HUDKIT_SOCKET", str(tmp_path / "d.sock"))
    with SessionStore.open(log.parent / "sessions.db") as store:
        store.project(StoredProject("p", "/p", 1))
    RequestLog(log.parent / "requests.db").close()
    return log.parent


def test_the_agents_databases_are_backed_up_with_the_log_and_restored(hudkit: Run, data: Path) -> None:
    facts = json.loads(hudkit("backup", "--json")[1])
    files = [Path(file) for file in (facts["file"], *(other["file"] for other in facts["others"]))]
    assert [file.name.partition(".backup-")[0] for file in files] == ["hudkit.db", "sessions.db", "requests.db"]
    assert [row["file"] for row in json.loads(hudkit("backup", "--list", "--json")[1])["backups"]] == [
        *map(str, files)
    ]
    assert hudkit("backup", "--to", data / "copy.db")[0] == 0 and not (data / "copy.db.mark").exists()
    with SessionStore.open(data / "sessions.db") as store:
        store.project(StoredProject("later", "/p", 2))
    holder = f"from hudkit.agent import SessionStore; store = SessionStore.open({str(data / 'sessions.db')!r}); "
    command = [sys.executable, "-c", f"{holder}print(1, flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None and agent.stdout.readline()
        code, _, err = hudkit("restore", files[1])
        assert code == 2 and "in use" in err
        agent.communicate(b"\n")
    code, out, _ = hudkit("restore", files[1])
    assert code == 0 and out.startswith(f"{data / 'sessions.db'} is as in {files[1]}")
    with SessionStore.open(data / "sessions.db") as store:
        assert [project.id for project in store.projects()] == ["p"]
    assert hudkit("restore", "--db", data / "requests.db")[0] == 0
    assert json.loads(hudkit("backup", "--db", data / "sessions.db", "--json")[1])["others"] == []


def test_a_damaged_database_holds_up_no_backup_of_another(hudkit: Run, data: Path) -> None:
    damage(data / "hudkit.db")
    code, out, err = hudkit("backup")
    assert code == 2 and "sessions.db.backup-" in out and "requests.db.backup-" in out
    assert "hudkit.db is damaged" in err and not list(data.glob("hudkit.db.backup-*"))


def test_a_backup_takes_the_place_of_nothing_else(hudkit: Run, data: Path) -> None:
    world = data / "worlds" / "hall.db"
    assert hudkit("rooms", "new", world)[0] == 0
    made = json.loads(hudkit("backup", "--db", world, "--json")[1])["file"]
    before = hudkit("show")[1]
    code, _, err = hudkit("restore", made)
    assert code == 2 and "hall.db" in err and "--db" in err and hudkit("show")[1] == before
    assert hudkit("restore", made, "--db", world)[0] == 0 and hudkit("rooms", "show", "--world", world)[0] == 0
    sessions = json.loads(hudkit("backup", "--db", data / "sessions.db", "--json")[1])["file"]
    assert hudkit("restore", sessions, "--db", data / "requests.db")[0] == 0, "they asked for it"


def test_every_file_of_backups_and_restores_is_in_the_list_of_own_files(hudkit: Run, data: Path) -> None:
    world = data / "worlds" / "hall.db"
    assert hudkit("rooms", "new", world)[0] == 0
    there = set(data.rglob("*"))
    assert hudkit("backup")[0] == 0 and hudkit("backup", "--db", world)[0] == 0
    assert hudkit("restore")[0] == 0 and hudkit("restore", "--db", world)[0] == 0
    for name in ("sessions.db", "requests.db"):
        assert hudkit("restore", "--db", data / name)[0] == 0
    damage(data / "hudkit.db")
    assert hudkit("repair")[0] == 0
    made = {path for path in set(data.rglob("*")) - there if path.is_file()}
    assert len(made) >= 9
    kinds = {path: kind for kind, path in own_files(data, data / "hudkit.db")}
    assert made - kinds.keys() == set()
    copies = {path for path in made if ".backup-" in path.name or ".before-" in path.name}
    assert {kinds[path].redaction for path in copies if not path.name.endswith((".mark", "-wal"))} == {"named"}


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


def test_a_lost_tail_of_several_sessions_is_told_to_each(hudkit: Run, tmp_path: Path) -> None:
    source, copy = tmp_path / "source" / "hudkit.db", tmp_path / "copy" / "hudkit.db"
    with Hud.open(source) as hud:
        for name in ("ses_1", "ses_2", "ses_3"):
            hud.session(name).call("notes.add", {"content": "kept"})
        with sqlite3.connect(source) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        hud.session("ses_1").call("notes.add", {"content": "lost"})
        hud.session("ses_2").call("notes.add", {"content": "lost"})
        shutil.copytree(source.parent, copy.parent)
    for suffix in ("-shm", "-wal"):
        copy.with_name(f"hudkit.db{suffix}").unlink()
    with Hud.open(copy) as hud:
        tails = [hud.session(f"ses_{number}").frame(used_tokens=1, limit_tokens=99_999).tail for number in (1, 2, 4)]
        assert "events were lost (2 acknowledged events are missing, of more than one session)" in tails[0]
        assert "events were lost (event 2: lost; 2 acknowledged events are missing" in tails[1]
        assert "lost" not in tails[2], "a session that had no events lost none"
    assert "recorded events were lost: 2 acknowledged" in hudkit("show", "ses_1", "--db", copy)[2]


def test_a_log_of_a_newer_version_is_not_copied(hudkit: Run, log: Path) -> None:
    with sqlite3.connect(log) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    code, _, err = hudkit("backup", "--db", log)
    assert code == 2 and f"{log} has schema version 99" in err
    assert not list(log.parent.glob("*.backup-*"))


def test_a_log_that_is_gone_is_told_from_one_that_never_was(hudkit: Run, log: Path) -> None:
    assert hudkit("backup", "--db", log)[0] == 0
    log.unlink()
    for command in ("show", "verify", "repair", "backup"):
        code, _, err = hudkit(command, "--db", log)
        assert code == 2 and "is gone: the mark beside it says that it held events" in err and "hudkit restore" in err
    assert hudkit("restore", "--db", log)[0] == 0
    assert hudkit("verify", "--db", log)[1].startswith("fine: 5 events")
    never = log.with_name("never.db")
    assert "there is no log" in hudkit("show", "--db", never)[2]


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
