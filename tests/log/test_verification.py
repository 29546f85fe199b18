"""Damage is found and named: flipped bits anywhere, rows changed by hand, a write-ahead log that lost its tail."""

from __future__ import annotations

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from campaigns import Campaign
from hudkit.errors import StoreDamaged, StoreError
from hudkit.log import Finding, Snapshot
from hudkit.log.payloads import NoteAdd, Redact
from hudkit.log.stores import SqliteLog, verify_file
from hudkit.testing.store_conformance import make_draft, note_drafts

pytestmark = pytest.mark.slow

ROW_FLIPS = Campaign("damage", quick=1000, full=20_000)
FLIPS = Campaign("damage", quick=400, full=10_000)
MARKER = "0190b5c0-0000-7000-8000-"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log with two sessions, a snapshot and a redaction."""
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        for number in range(1, 25):
            log.append("alpha", [make_draft(NoteAdd(f"alpha {number} " + "x" * 60), number)])
            log.append("beta", [make_draft(NoteAdd(f"beta {number} " + "y" * 60), number)])
        log.append("alpha", [make_draft(Redact(5), 25)])
        log.put_snapshot(Snapshot("beta", 20, "1", b"state " * 40))
    return path


def by_hand(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        assert db.execute(statement).rowcount != 0, statement
    db.commit()
    db.close()


def findings(path: Path) -> list[Finding]:
    with SqliteLog.open(path) as log:
        return list(log.verify())


def use_everything(path: Path) -> list[Finding]:
    """Open, read, append, verify; whatever is wrong must come as a `StoreError` or a finding."""
    found = list(verify_file(path))
    try:
        with SqliteLog.open(path) as log:
            for session in ("alpha", "beta"):
                try:
                    list(log.read(session))
                except StoreDamaged as error:
                    assert isinstance(error.details["finding"], Finding)
                log.last_seq(session)
            log.sessions()
            log.get_snapshot("beta", "1")
            log.append("beta", note_drafts(1, 99))
            found += log.verify()
    except StoreDamaged as error:
        finding = error.details["finding"]
        assert isinstance(finding, Finding)
        found.append(finding)
    return found


# -- rows changed by hand --------------------------------------------------------------------------------------

EDITS = {
    "body": (
        "UPDATE events SET body = replace(body, 'alpha', 'omega') WHERE session_id='alpha' AND seq=7",
        "payload",
    ),
    "body to text": ("UPDATE events SET body = CAST(body AS TEXT) WHERE session_id='alpha' AND seq=7", "payload"),
    "body away": ("UPDATE events SET body = NULL WHERE session_id='alpha' AND seq=7", "payload"),
    "digest": ("UPDATE events SET digest = zeroblob(32) WHERE session_id='alpha' AND seq=7", "payload"),
    "link": ("UPDATE events SET link = zeroblob(32) WHERE session_id='alpha' AND seq=7", "chain"),
    "link to number": ("UPDATE events SET link = 7 WHERE session_id='alpha' AND seq=7", "chain"),
    "id": ("UPDATE events SET id = 'other' WHERE session_id='alpha' AND seq=7", "chain"),
    "turn": ("UPDATE events SET turn = turn + 1 WHERE session_id='alpha' AND seq=7", "chain"),
    "timestamp": ("UPDATE events SET timestamp = 0 WHERE session_id='alpha' AND seq=7", "chain"),
    "type": ("UPDATE events SET type = 'task.set' WHERE session_id='alpha' AND seq=7", "chain"),
    "version": ("UPDATE events SET v = 2 WHERE session_id='alpha' AND seq=7", "chain"),
    "origin": ("UPDATE events SET origin = 'system' WHERE session_id='alpha' AND seq=7", "chain"),
    "deleted": ("DELETE FROM events WHERE session_id='alpha' AND seq=7", "gap"),
    "moved to another session": ("UPDATE events SET session_id='gamma' WHERE session_id='alpha' AND seq=7", "gap"),
    "moved to another number": ("UPDATE events SET seq=99 WHERE session_id='alpha' AND seq=7", "gap"),
    "not text": ("UPDATE events SET id = CAST(X'ff80' AS TEXT) WHERE session_id='alpha' AND seq=7", "chain"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_row_changed_by_hand_is_named(path: Path, edit: str) -> None:
    statement, code = EDITS[edit]
    by_hand(path, statement)
    found = findings(path)
    assert (code, "alpha", 7) in [(finding.code, finding.session_id, finding.seq) for finding in found]
    assert not any(finding.session_id == "beta" for finding in found)
    with SqliteLog.open(path) as log:
        reading = log.read("alpha")
        assert [next(reading).seq for _ in range(6)] == [1, 2, 3, 4, 5, 6]
        with pytest.raises(StoreDamaged) as caught:
            next(reading)
        finding = caught.value.details["finding"]
        assert isinstance(finding, Finding)
        assert (finding.code, finding.session_id, finding.seq) == (code, "alpha", 7)
        assert len(list(log.read("beta"))) == 24
        assert [event.seq for event in log.read("alpha", after=8, upto=25)] == list(range(9, 26)), (
            "what follows can be read"
        )
        assert log.append("alpha", note_drafts(1, 50)), "and appending goes on"


def test_a_tail_deleted_by_hand_is_named_for_good(path: Path) -> None:
    by_hand(path, "DELETE FROM events WHERE session_id='beta' AND seq > 20")
    with SqliteLog.open(path) as log:
        with pytest.raises(StoreDamaged):
            list(log.read("beta"))
        assert [event.seq for event in log.read("beta", upto=20)] == list(range(1, 21))
        assert ("beta", 21) in [(finding.session_id, finding.seq) for finding in log.verify()]
        assert log.append("beta", note_drafts(1, 70))[0].seq == 21
        assert len(list(log.read("beta"))) == 21
    assert ("beta", 21) in [(finding.session_id, finding.seq) for finding in findings(path)]


def test_a_whole_session_deleted_by_hand_is_noticed(path: Path) -> None:
    by_hand(path, "DELETE FROM events WHERE session_id='beta'", "DELETE FROM heads WHERE session_id='beta'")
    assert [finding.code for finding in findings(path)][:1] == ["gap"]


def test_a_head_changed_by_hand_is_noticed(path: Path) -> None:
    for statement in (
        "UPDATE heads SET seq = 3 WHERE session_id='alpha'",
        "UPDATE heads SET link = X'00' WHERE session_id='alpha'",
        "DELETE FROM heads WHERE session_id='alpha'",
    ):
        by_hand(path, statement)
        assert [finding.session_id for finding in findings(path)] == ["alpha"], statement
        with SqliteLog.open(path) as log:
            assert log.append("alpha", note_drafts(1, 60)), "the events are the truth"
            assert list(log.read("alpha"))
        by_hand(path, "DELETE FROM damage")
        assert findings(path) == []


def test_a_redacted_payload_put_back_is_noticed(path: Path) -> None:
    copy = path.with_name("copy.db")
    with SqliteLog.open(copy) as log:
        for number in range(1, 6):
            log.append("alpha", [make_draft(NoteAdd(f"alpha {number} " + "x" * 60), number)])
    by_hand(
        path,
        f"ATTACH '{copy}' AS copy",
        "UPDATE events SET body = (SELECT body FROM copy.events WHERE seq = 5) WHERE session_id='alpha' AND seq=5",
    )
    assert [(finding.code, finding.session_id, finding.seq) for finding in findings(path)] == [
        ("payload", "alpha", 5)
    ]


def test_tables_changed_by_hand_are_noticed(path: Path) -> None:
    by_hand(path, "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = 1; END")
    assert [finding.code for finding in verify_file(path)] == ["file"]


def test_a_damaged_snapshot_is_passed_over(path: Path) -> None:
    with SqliteLog.open(path) as log:
        log.put_snapshot(Snapshot("beta", 10, "1", b"older"))
    for column, value in (("body", "X'00'"), ("digest", "X'00'"), ("seq", "21"), ("body", "'text'")):
        copy = path.with_name("copy.db")
        shutil.copy(path, copy)
        by_hand(copy, f"UPDATE snapshots SET {column} = {value} WHERE seq = 20")
        with SqliteLog.open(copy) as log:
            assert log.get_snapshot("beta", "1") == Snapshot("beta", 10, "1", b"older")
        copy.unlink()


def test_a_snapshot_of_events_that_were_replaced_is_passed_over(path: Path) -> None:
    by_hand(path, "DELETE FROM events WHERE session_id='beta' AND seq > 15")
    with SqliteLog.open(path) as log:
        assert log.get_snapshot("beta", "1") is None
        log.append("beta", note_drafts(9, 40))
        assert log.last_seq("beta") == 24
        assert log.get_snapshot("beta", "1") is None, "its state holds events that are gone"


# -- flipped bits ----------------------------------------------------------------------------------------------


def flipped(source: Path, target: Path, at: int, bit: int) -> None:
    data = bytearray(source.read_bytes())
    data[at] ^= 1 << bit
    target.write_bytes(data)
    target.chmod(0o600)


def contents(data: bytes) -> Iterator[int]:
    """Byte positions of stored values of event rows: ids and all that follows in the record, up to its link."""
    at = data.find(MARKER.encode())
    while at >= 0:
        body = data.find(b'{"type":"', at)
        end = data.find(b"}", body) + 1 + 64
        yield from range(at, end)
        at = data.find(MARKER.encode(), end)


@ROW_FLIPS
@pytest.mark.slow
def test_every_flip_in_a_row_is_found(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    with SqliteLog.open(path, read_only=True) as log:
        rows = 49
        assert sum(len(list(log.read(session))) for session in log.sessions()) == rows
    places = sorted(set(contents(data)))
    assert len(places) > rows * 100
    chance = ROW_FLIPS.chance(1)
    target = tmp_path / "flipped" / "log.db"
    target.parent.mkdir(mode=0o700)
    for at in chance.choices(places, k=ROW_FLIPS.rounds):
        flipped(path, target, at, chance.randrange(8))
        found = list(verify_file(target))
        assert found, f"the flip at byte {at} ({data[at - 20 : at + 20]!r}) went unnoticed"


@FLIPS
@pytest.mark.slow
def test_no_flip_anywhere_raises_what_is_not_typed(path: Path, tmp_path: Path) -> None:
    size = path.stat().st_size
    chance = FLIPS.chance(2)
    folder = tmp_path / "flipped"
    folder.mkdir(mode=0o700)
    target = folder / "log.db"
    places = [*range(100), *chance.choices(range(100, size), k=FLIPS.rounds)]
    for at in places:
        for file in folder.iterdir():
            file.unlink()
        shutil.copy(path.with_name("log.db.mark"), folder)
        flipped(path, target, at, chance.randrange(8))
        with suppress(StoreError):  # typed: the file is not ours any more, or too new
            use_everything(target)


def test_a_flip_in_a_tables_definition_is_typed(path: Path) -> None:
    """`position` is no key any more then, and has no value in any row that a copy of the table brings along."""
    by_hand(
        path,
        "CREATE TABLE moved AS SELECT NULL AS position, session_id, seq, id, turn, timestamp, type, v, origin, body, "
        "digest, link FROM events",
        "DROP TABLE events",
        "ALTER TABLE moved RENAME TO events",
    )
    with pytest.raises(StoreDamaged, match=r"its schema was altered: table events was changed, .* is missing"):
        SqliteLog.open(path)
    assert "file" in [finding.code for finding in verify_file(path)]


def test_a_file_that_is_no_database_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    path.write_bytes(b"not a database " * 1000)
    assert [finding.code for finding in verify_file(path)] == ["file"]
    with pytest.raises(StoreDamaged):
        SqliteLog.open(path)
    assert path.read_bytes() == b"not a database " * 1000


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE events (a)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="not a log of hudkit"):
        SqliteLog.open(path)
    assert [finding.code for finding in verify_file(path)] == ["file"]
    assert path.read_bytes() == before


def test_a_truncated_file_is_typed(path: Path) -> None:
    data = path.read_bytes()
    for size in (1, 99, 4096, 5000, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with suppress(StoreError):
            assert use_everything(path)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


# -- a write-ahead log that lost its tail ----------------------------------------------------------------------


@pytest.fixture
def torn(tmp_path: Path) -> Iterator[Path]:
    """The files of a log as they are while its writer works: nothing is checkpointed."""
    source = tmp_path / "source"
    with SqliteLog.open(source / "log.db") as log:
        for number in range(1, 13):
            log.append("alpha" if number % 3 else "beta", [make_draft(NoteAdd(f"event {number}"), number)])
        copy = tmp_path / "torn"
        shutil.copytree(source, copy)
        (copy / "log.db-shm").unlink()
        yield copy / "log.db"


def test_an_unharmed_write_ahead_log_is_all_there(torn: Path) -> None:
    assert findings(torn) == []
    with SqliteLog.open(torn) as log:
        assert (log.last_seq("alpha"), log.last_seq("beta")) == (8, 4)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_a_flip_in_the_write_ahead_log_is_named_for_good(torn: Path, share: float) -> None:
    log_file = torn.with_name("log.db-wal")
    size = log_file.stat().st_size
    flipped(log_file, log_file, int((size - 1) * share), 3)
    assert [finding.code for finding in verify_file(torn)] == ["lost"], "before anything is read back"
    with SqliteLog.open(torn) as log:
        there = {name: log.last_seq(name) for name in ("alpha", "beta")}
        assert there["alpha"] + there["beta"] >= 11, "all but the one that was damaged itself"
        (finding,) = log.verify()
        if sum(there.values()) == 12:
            assert finding.code == "file" and "were read back" in finding.message
        else:
            assert (finding.code, finding.session_id, finding.seq) == ("lost", "beta", 4), "the last event was beta's"
        for name, last in there.items():
            assert [event.seq for event in log.read(name)] == list(range(1, last + 1))
            assert log.append(name, note_drafts(3, 50))[0].seq == last + 1
    assert findings(torn) == [finding], "from then on"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.9])
def test_a_cut_write_ahead_log_is_named_for_good(torn: Path, share: float) -> None:
    log_file = torn.with_name("log.db-wal")
    log_file.write_bytes(log_file.read_bytes()[: int(log_file.stat().st_size * share)])
    with SqliteLog.open(torn) as log:
        there = {name: log.last_seq(name) for name in ("alpha", "beta")}
        (finding,) = log.recorded_findings()
        assert (finding.code, finding.session_id, finding.seq) == ("lost", "beta", there["beta"] + 1)
        assert f"{12 - sum(there.values())} acknowledged events" in finding.message
        for name, last in there.items():
            assert log.append(name, note_drafts(3, 50))[0].seq == last + 1
    assert findings(torn) == [finding], "from then on"


def test_a_write_ahead_log_that_vanished_is_named(torn: Path) -> None:
    torn.with_name("log.db-wal").unlink()
    assert [(finding.code, finding.session_id, finding.seq) for finding in findings(torn)] == [("lost", "beta", 1)]


def test_a_database_that_vanished_is_named(path: Path) -> None:
    path.unlink()
    assert [(finding.code, finding.session_id, finding.seq) for finding in findings(path)] == [("lost", "alpha", 1)]


def test_a_loss_is_seen_by_a_reader_that_may_not_write(torn: Path) -> None:
    torn.with_name("log.db-wal").write_bytes(b"")
    with SqliteLog.open(torn, read_only=True) as log:
        assert [finding.code for finding in log.verify()] == ["lost"]


def test_a_damaged_mark_is_found(path: Path) -> None:
    mark = path.with_name("log.db.mark")
    for at in (0, 10, 60, 300, 511):
        before = mark.read_bytes()
        flipped(mark, mark, at, 1)
        assert [finding.message for finding in findings(path)] == ["the high-water mark was damaged"]
        by_hand(path, "DELETE FROM damage")
        assert mark.read_bytes() == before, "and written anew"


def test_a_log_without_its_mark_gets_a_new_one(path: Path) -> None:
    mark = path.with_name("log.db.mark")
    before = mark.read_bytes()
    mark.unlink()
    assert findings(path) == []
    assert mark.read_bytes() == before
    mark.write_bytes(bytes(512))  # made, and the power was gone before its first sync
    assert findings(path) == []
    assert mark.read_bytes() == before


@pytest.mark.slow
def test_verify_while_others_write_sees_one_moment(tmp_path: Path) -> None:
    stop = Event()
    with SqliteLog.open(tmp_path / "log.db") as log, SqliteLog.open(tmp_path / "log.db") as other:

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                other.append("s", note_drafts(1, number))

        thread = Thread(target=write)
        thread.start()
        try:
            until = time.monotonic() + 0.6
            while time.monotonic() < until:
                assert list(log.verify()) == []
        finally:
            stop.set()
            thread.join()
