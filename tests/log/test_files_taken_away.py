"""What is taken away, moved or altered under a log: nothing is acknowledged into a file that is gone (D7, G6)."""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from hudkit.agent import RequestLog, SessionStore
from hudkit.agent.request_log import redact_requests
from hudkit.agent.session_store import StoredProject
from hudkit.errors import StoreDamaged, StoreGone
from hudkit.log.payloads import NoteAdd
from hudkit.log.redaction import secret_texts
from hudkit.log.stores import SqliteLog, verify_file
from hudkit.models import CompletionRequest
from hudkit.rooms.architect import Architect
from hudkit.rooms.world_log import WorldLog
from hudkit.testing.store_conformance import make_draft
from waiting import until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "log.db"


def add(log: SqliteLog, number: int) -> None:
    log.append("s", [make_draft(NoteAdd(f"note {number}"), number)])


def notes(path: Path) -> list[str]:
    with SqliteLog.open(path) as log:
        return [event.payload.content for event in log.read("s")]  # type: ignore[union-attr]


def delete(path: Path) -> None:
    path.unlink()


def rename_away(path: Path) -> None:
    path.rename(path.with_name("away.db"))


def rename_over(path: Path) -> None:
    """As `mv backup.db log.db` does."""
    other = path.with_name("other.db")
    with SqliteLog.open(other) as log:
        add(log, 99)
    other.rename(path)


def delete_directory(path: Path) -> None:
    shutil.rmtree(path.parent)


def rename_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def replace_directory(path: Path) -> None:
    rename_directory(path)
    with SqliteLog.open(path) as log:
        add(log, 98)


def delete_write_ahead_log(path: Path) -> None:
    path.with_name("log.db-wal").unlink()


def delete_shared_memory(path: Path) -> None:
    path.with_name("log.db-shm").unlink()


def delete_mark(path: Path) -> None:
    path.with_name("log.db.mark").unlink()


def replace_write_ahead_log(path: Path) -> None:
    log = path.with_name("log.db-wal")
    raw = log.read_bytes()
    log.unlink()
    log.write_bytes(raw)


TAKEN = (delete, rename_away, delete_directory, rename_directory)
REPLACED = (
    rename_over,
    replace_directory,
    delete_write_ahead_log,
    delete_shared_memory,
    delete_mark,
    replace_write_ahead_log,
)


@pytest.mark.parametrize("take", [*TAKEN, *REPLACED])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(path: Path, take: Callable[[Path], None]) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
        take(path)
        for _ in range(2):
            with pytest.raises(StoreGone) as caught:
                add(log, 2)
            assert caught.value.details["replaced"] is (take in REPLACED)
            assert str(path) in caught.value.message and caught.value.hint
        assert [event.seq for event in log.read("s")] == [1], "what is open can be read on"


def test_a_file_that_is_taken_away_while_it_is_written_is_not_acknowledged(path: Path) -> None:
    """The look before a transaction does not see what happens within it."""
    with SqliteLog.open(path) as log:
        add(log, 1)

        with path.with_name("log.db.mark").open("rb") as mark, ThreadPoolExecutor(1) as pool:
            # The mark's lock is taken within the transaction: the writer waits for this one there.
            fcntl.flock(mark, fcntl.LOCK_EX)
            written = pool.submit(add, log, 2)
            until(lambda: is_locked(path))
            path.unlink()
            fcntl.flock(mark, fcntl.LOCK_UN)
            with pytest.raises(StoreGone):
                written.result()


def is_locked(path: Path) -> bool:
    """Whether somebody is in the middle of a transaction."""
    with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as db:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False


def test_a_file_that_is_put_back_is_written_again_and_lacks_nothing(path: Path) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
        path.rename(path.with_name("away.db"))
        with pytest.raises(StoreGone):
            add(log, 2)
        path.with_name("away.db").rename(path)
        add(log, 3)
    assert notes(path) == ["note 1", "note 3"]
    assert not list(verify_file(path))


def test_a_file_that_was_moved_away_holds_all_that_was_acknowledged(path: Path) -> None:
    """Its write-ahead log stays behind: what is in it goes into the file, wherever that is now."""
    with SqliteLog.open(path) as log:
        add(log, 1)
        add(log, 2)
        away = path.with_name("away.db")
        path.rename(away)
        with pytest.raises(StoreGone):
            add(log, 3)
        assert path.with_name("log.db-wal").stat().st_size == 0, "the next file of this name must not replay it"
        shutil.copy(path.with_name("log.db.mark"), path.with_name("away.db.mark"))
    assert notes(away) == ["note 1", "note 2"]
    assert not list(verify_file(away))


@pytest.mark.parametrize("take", [delete_write_ahead_log, delete_shared_memory, delete_mark])
def test_what_was_acknowledged_outlives_the_files_beside_it(path: Path, take: Callable[[Path], None]) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
        take(path)
        with pytest.raises(StoreGone):
            add(log, 2)
    assert notes(path) == ["note 1"]
    assert not list(verify_file(path))


def test_a_backup_renamed_over_the_log_is_taken_up_as_it_was(path: Path) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
    backup = path.with_name("backup.db")
    shutil.copy(path, backup)
    with SqliteLog.open(path) as log:
        add(log, 2)
        backup.rename(path)
        with pytest.raises(StoreGone):
            add(log, 3)
    assert notes(path) == ["note 1"]
    assert [finding.code for finding in verify_file(path)] == ["lost"], "the mark tells what the backup lacks"


# -- the agent loop's databases --------------------------------------------------------------------------------


@pytest.mark.parametrize("take", [delete, rename_away, delete_directory])
def test_sessions_and_requests_are_not_stored_into_a_file_that_is_gone(
    path: Path, take: Callable[[Path], None]
) -> None:
    with SessionStore.open(path) as store:
        store.project(StoredProject("p", "/tmp", 1))
        take(path)
        with pytest.raises(StoreGone):
            store.project(StoredProject("q", "/tmp", 2))
    path = path.with_name("requests.db")
    with closing(RequestLog(path)) as requests:
        requests.add("s", "m1", "test", 1, CompletionRequest(("system",), ()))
        take(path)
        with pytest.raises(StoreGone):
            requests.add("s", "m2", "test", 2, CompletionRequest(("system",), ()))


@pytest.mark.parametrize("take", [delete, rename_away, delete_directory])
def test_a_world_that_is_gone_takes_no_events(path: Path, take: Callable[[Path], None]) -> None:
    path.parent.mkdir(mode=0o700)
    with WorldLog.create(path, name="w") as world_log:
        architect = Architect(world_log)
        architect.make_agent("persona", "Ann", "You are here.", "improviser")
        take(path)
        with pytest.raises(StoreGone):
            architect.make_agent("persona", "Bob", "You are here.", "improviser")
        assert [agent.name for agent in world_log.world.agents.values()] == ["Ann"]


# -- altered schemas -------------------------------------------------------------------------------------------

ALTERED = {
    "CREATE TRIGGER eater AFTER INSERT ON events BEGIN DELETE FROM events WHERE position = new.position - 1; END": (
        "trigger eater was added",
        "DROP trigger eater",
    ),
    "CREATE VIEW notes AS SELECT 1": ("view notes was added", "DROP view notes"),
    "CREATE TABLE extra (x)": ("table extra was added", "DROP table extra"),
    "CREATE INDEX quick ON events (type)": ("index quick was added", "DROP index quick"),
    "ALTER TABLE heads ADD COLUMN more TEXT": ("table heads was changed", "Put a copy of the file back"),
    "DROP TABLE snapshots": ("table snapshots is missing", "Put a copy of the file back"),
}


@pytest.mark.slow
@pytest.mark.parametrize("sql", ALTERED)
@pytest.mark.parametrize("read_only", [False, True])
def test_an_altered_schema_is_refused_with_what_was_altered_and_what_to_do(
    path: Path, sql: str, read_only: bool
) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
    with closing(sqlite3.connect(path)) as db:
        db.execute(sql)
        db.commit()
    what, hint = ALTERED[sql]
    before = path.read_bytes()
    with pytest.raises(StoreDamaged) as caught:
        SqliteLog.open(path, read_only=read_only)
    assert what in caught.value.message and str(path) in caught.value.message and hint in caught.value.hint
    assert path.read_bytes() == before
    assert [what in finding.message for finding in verify_file(path)] == [True]
    if "DROP" in hint:
        with closing(sqlite3.connect(path)) as db:
            db.execute(hint)
            db.commit()
        assert notes(path) == ["note 1"], "what the hint says is enough"


def test_an_analysed_log_is_no_altered_one(path: Path) -> None:
    with SqliteLog.open(path) as log:
        add(log, 1)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ANALYZE")
        db.commit()
    assert notes(path) == ["note 1"]


def test_an_altered_store_of_sessions_is_refused(path: Path) -> None:
    SessionStore.open(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TRIGGER eater AFTER INSERT ON messages BEGIN DELETE FROM messages; END")
        db.commit()
    with pytest.raises(StoreDamaged, match="trigger eater was added"):
        SessionStore.open(path)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER eater AFTER INSERT ON requests BEGIN DELETE FROM blocks; END",
        "CREATE VIEW more AS SELECT 1",
        "ALTER TABLE blocks ADD COLUMN more TEXT",
    ],
)
@pytest.mark.parametrize("marked", [True, False])
def test_an_altered_store_of_requests_is_refused_and_stays_as_it_is(path: Path, sql: str, marked: bool) -> None:
    """Also one of the first release, which wrote no mark of its own into the file."""
    RequestLog(path).close()
    with closing(sqlite3.connect(path)) as db:
        if not marked:
            db.executescript("PRAGMA user_version = 0; PRAGMA application_id = 0;")
        db.execute(sql)
        db.commit()
    before = path.read_bytes()
    for use in (RequestLog, lambda path: redact_requests(path, secret_texts("a text to go"))):
        with pytest.raises(StoreDamaged, match="its schema was altered" if marked else "holds no requests of hudkit"):
            use(path)
    assert path.read_bytes() == before


def test_an_unmarked_store_of_requests_is_taken_also_where_its_making_was_cut_off(path: Path) -> None:
    with closing(RequestLog(path)) as requests:
        requests.add("s", "m1", "test", 1, CompletionRequest(("system",), ()))
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA user_version = 0; PRAGMA application_id = 0; DROP INDEX requests_of_session;")
    for _ in range(2):
        with closing(RequestLog(path)) as requests:
            assert [request.message_id for request in requests.requests("s")] == ["m1"]
