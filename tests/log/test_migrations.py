"""Schema versions: a newer file is left alone, an older one is copied first, a crash leaves either state whole."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from hudkit.errors import StoreReadOnly, StoreTooNew
from hudkit.log.stores import SqliteLog, log_tables, migrations
from hudkit.testing.store_conformance import note_drafts

NOW = len(log_tables.LOG_MIGRATIONS)
TAG = "ALTER TABLE heads ADD COLUMN tag TEXT"
STEP = (TAG, "UPDATE heads SET tag = session_id", "UPDATE events SET turn = turn + 1")
NEXT = log_tables.LOG_SCHEMA._replace(steps=(*log_tables.LOG_MIGRATIONS, STEP))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with SqliteLog.open(tmp_path / "log.db") as log:
        for name in ("a", "b"):
            log.append(name, note_drafts(200))
    return tmp_path / "log.db"


def version(path: Path) -> tuple[int, bool]:
    """Schema version and whether the second step's column is there."""
    db = sqlite3.connect(path)
    try:
        columns = [row[1] for row in db.execute("PRAGMA table_info(heads)")]
        return db.execute("PRAGMA user_version").fetchone()[0], "tag" in columns
    finally:
        db.close()


def test_a_newer_file_is_left_as_it_is(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {len(log_tables.LOG_MIGRATIONS) + 1}")
    db.close()
    files = [path, path.with_name("log.db.mark")]
    before = [file.read_bytes() for file in files]
    for read_only in (False, True):
        with pytest.raises(StoreTooNew) as caught:
            SqliteLog.open(path, read_only=read_only)
        assert caught.value.details["version"] == len(log_tables.LOG_MIGRATIONS) + 1
    assert [file.read_bytes() for file in files] == before


@pytest.mark.slow
def test_a_copy_is_made_before_an_older_file_is_changed(path: Path) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    assert migrations.migrate(db, path, NEXT)
    assert not migrations.migrate(db, path, NEXT)
    db.close()
    assert version(path) == (NOW + 1, True)
    copy = path.with_name(f"log.db.v{NOW}.bak")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert version(copy) == (NOW, False)
    with SqliteLog.open(copy) as log:
        assert len(list(log.read("a"))) == 200
        assert list(log.verify()) == []
    assert not list(path.parent.glob("*.bak.*[0-9]")), "no half copy stays"


@pytest.mark.slow
def test_half_copies_of_killed_processes_are_removed_with_their_journals(path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    begun = f"log.db.v{NOW}.bak"
    left = [path.with_name(f"{begun}.{gone.pid}{end}") for end in ("", "-journal", "-wal")]
    others = [
        path.with_name(f"{begun}.{os.getppid()}"),
        path.with_name("log.db.v0.bak"),
        path.with_name(f"x{begun}.9"),
    ]
    for file in (*left, *others):
        file.write_bytes(b"half a copy, with what was redacted later")
    db = sqlite3.connect(path, isolation_level=None)
    assert migrations.migrate(db, path, NEXT)
    db.close()
    assert not any(file.exists() for file in left)
    assert all(file.exists() for file in others), "of a process that is at work, a whole copy, another file's"


def test_an_older_file_is_not_changed_by_a_reader(path: Path) -> None:
    db = sqlite3.connect(path)
    with pytest.raises(StoreReadOnly):
        migrations.check_current(db, path, NEXT)
    db.close()
    assert version(path) == (NOW, False)


@pytest.mark.slow
def test_a_step_that_fails_leaves_the_version_before(path: Path) -> None:
    step = (TAG, "UPDATE heads SET tag = session_id", "UPDATE nowhere SET x = 1")
    broken = log_tables.LOG_SCHEMA._replace(steps=(*log_tables.LOG_MIGRATIONS, step))
    db = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(db, path, broken)
    assert not db.in_transaction
    db.close()
    assert version(path) == (NOW, False)
    with SqliteLog.open(path) as log:
        assert list(log.verify()) == []


CRASH = f"""
import os, signal, sqlite3, sys
from pathlib import Path
from hudkit.log.stores import log_tables, migrations
path, where = Path(sys.argv[1]), sys.argv[2]
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA cache_size = 2")  # dirty pages reach the write-ahead log before the commit
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
db.create_function("die", -1, die)
step = ["{TAG}", "UPDATE heads SET tag = session_id", "UPDATE events SET turn = turn + 1"]
step.insert(int(where), "UPDATE events SET turn = die() WHERE seq = 1")
migrations.migrate(db, path, log_tables.LOG_SCHEMA._replace(steps=(*log_tables.LOG_MIGRATIONS, tuple(step))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", range(4))
def test_a_crash_within_a_step_leaves_the_version_before(path: Path, where: int) -> None:
    done = subprocess.run([sys.executable, "-c", CRASH, str(path), str(where)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert version(path) == (NOW, False)
    with SqliteLog.open(path) as log:
        assert [event.turn for event in log.read("a", upto=4)] == [0, 0, 0, 1]
        assert list(log.verify()) == []
    db = sqlite3.connect(path, isolation_level=None)
    assert migrations.migrate(db, path, NEXT)
    db.close()
    assert version(path) == (NOW + 1, True)


def test_a_file_that_was_only_just_created_becomes_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.touch(mode=0o600)
    with SqliteLog.open(path) as log:
        assert log.append("s", note_drafts(1))[0].seq == 1
    assert list(tmp_path.glob("*.bak")) == [], "there was nothing to copy"


def test_a_log_of_the_first_version_becomes_one_of_today(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(20))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DROP TABLE archive")
    db.execute("PRAGMA user_version = 1")
    db.close()
    with SqliteLog.open(path) as log:
        assert len(list(log.read("s"))) == 20 and log.archive("s", 10).events == 9
        assert list(log.verify()) == []
