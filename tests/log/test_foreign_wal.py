"""A write-ahead log of another database beside ours: it is told, nothing in it is taken for ours, nothing is lost.

SQLite itself would read its pages as ours, and write them into our file.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.clock import uuid7
from hudkit.errors import StoreBusy
from hudkit.log.payloads import EventGap, NoteAdd
from hudkit.log.stores import SqliteLog, verify_file
from hudkit.log.stores.recovery import back_up, backup_paths, repair, restore
from hudkit.testing.store_conformance import make_draft

pytestmark = pytest.mark.slow


def write(path: Path, name: str, first: int, last: int) -> None:
    with SqliteLog.open(path) as log:
        for number in range(first, last + 1):
            log.append(name, [make_draft(NoteAdd(f"{name} {number}"), number)])


def contents(path: Path, *, read_only: bool = False) -> dict[str, list[str]]:
    with SqliteLog.open(path, read_only=read_only) as log:
        return {
            name: [event.payload.content for event in log.read(name) if isinstance(event.payload, NoteAdd)]
            for name in log.sessions()
        }


def frames_of(path: Path, name: str, first: int, last: int) -> bytes:
    """The write-ahead log of a log at `path`, taken before its end."""
    with SqliteLog.open(path) as log:
        for number in range(first, last + 1):
            log.append(name, [make_draft(NoteAdd(f"{name} {number}"), number)])
        return path.with_name(f"{path.name}-wal").read_bytes()


def of_another_log(folder: Path) -> bytes:
    return frames_of(folder / "other.db", "theirs", 1, 60)


def of_a_log_with_our_session(folder: Path) -> bytes:
    return frames_of(folder / "other.db", "ours", 101, 120)


def of_another_program(folder: Path) -> bytes:
    path = folder / "browser.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE places (url TEXT)")
    for number in range(100):
        db.execute("INSERT INTO places VALUES (?)", (f"https://example.com/{number}" * 20,))
    frames = path.with_name("browser.db-wal").read_bytes()
    db.close()
    return frames


OTHERS = (of_another_log, of_a_log_with_our_session, of_another_program)
OURS = {"ours": [f"ours {number}" for number in range(1, 31)]}


@pytest.fixture(params=OTHERS, ids=lambda make: make.__name__)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A closed log of 30 events, and beside it the write-ahead log of another database."""
    path = tmp_path / "data" / "hudkit.db"
    write(path, "ours", 1, 30)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    frames = request.param(tmp_path / "elsewhere")
    assert len(frames) > 20_000
    wal(path).write_bytes(frames)
    wal(path).chmod(0o600)
    return path


def wal(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("*.before-open-*-wal"))


def test_all_that_was_acknowledged_is_there_nothing_else_and_it_is_told(path: Path) -> None:
    frames, before = wal(path).read_bytes(), path.read_bytes()
    assert contents(path, read_only=True) == OURS and path.read_bytes() == before
    assert [finding.message for finding in verify_file(path)] == [
        "the write-ahead log is that of another database: it is not read"
    ]
    assert contents(path) == OURS
    assert [file.read_bytes() for file in aside(path)] == [frames], "its owner can have it back"
    (finding,) = verify_file(path)
    assert finding.code == "file" and aside(path)[0].name in finding.message
    write(path, "ours", 31, 31)
    assert contents(path) == {"ours": [*OURS["ours"], "ours 31"]} and len(aside(path)) == 1
    assert repair(path, 1, uuid7).lost == () and list(verify_file(path)) == []


def test_its_notes_are_in_no_frame(path: Path) -> None:
    with Hud.open(path) as hud:
        frame = hud.session("ours").frame(used_tokens=1_000, limit_tokens=200_000)
        assert "ours 30" in frame.text and "ours 1" in frame.text and "ours 120" not in frame.text
        assert "lost" not in frame.text


def test_events_that_stood_only_in_the_log_that_it_took_the_place_of_are_told_as_lost(
    path: Path, tmp_path: Path
) -> None:
    """What was in no other file cannot be had back; but what is there is ours, and the loss is named."""
    frames = wal(path).read_bytes()
    wal(path).unlink()
    copy = tmp_path / "copy" / "hudkit.db"
    with SqliteLog.open(path) as log:
        log.append("ours", [make_draft(NoteAdd("ours 31"), 31)])
        shutil.copytree(path.parent, copy.parent)
    copy.with_name("hudkit.db-shm").unlink()
    wal(copy).write_bytes(frames)
    assert "lost" in [finding.code for finding in verify_file(copy)]
    with Hud.open(copy) as hud:
        frame = hud.session("ours").frame(used_tokens=1_000, limit_tokens=200_000)
        assert "recorded events were lost" in frame.tail and "ours 30" in frame.text and "ours 120" not in frame.text
    assert contents(copy) == OURS
    repair(copy, 1, uuid7)
    with SqliteLog.open(copy) as log:
        assert any(isinstance(event.payload, EventGap) for event in log.read("ours")) and list(log.verify()) == []


@pytest.mark.parametrize("command", ["backup", "restore", "repair"])
def test_nothing_of_it_gets_into_what_a_command_makes_or_keeps(path: Path, command: str) -> None:
    frames = wal(path).read_bytes()
    wal(path).unlink()
    copy, _ = back_up(path, 1)
    before = path.read_bytes()
    wal(path).write_bytes(frames)
    if command == "backup":
        back_up(path, 2)
        kept = backup_paths(path)[-1]
    elif command == "restore":
        kept = restore(path, copy, 2) or path
        assert contents(path) == OURS
    else:
        report = repair(path, 2, uuid7)
        kept = Path(report.old_log)
        assert report.events == 30 and report.lost == () and contents(path) == OURS
    assert kept.read_bytes() == before or contents(kept) == OURS


def test_one_that_a_process_has_open_is_left_alone(path: Path) -> None:
    """With a program that opened both, nobody moves a file away under it."""
    holder = (
        f"import contextlib, sqlite3; db = sqlite3.connect({str(path)!r})\n"
        "with contextlib.suppress(sqlite3.DatabaseError): db.execute('SELECT * FROM events').fetchall()\n"
        "print(1, flush=True); input()"
    )
    command = [sys.executable, "-c", holder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        with pytest.raises(StoreBusy):
            SqliteLog.open(path)
        assert aside(path) == [] and wal(path).exists()
        os.kill(other.pid, 9)
    assert contents(path) == OURS
