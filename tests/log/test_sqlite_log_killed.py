"""Nothing that was acknowledged is lost when a writer is killed, and several writers share a file."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from campaigns import Campaign
from hudkit.errors import SequenceConflict
from hudkit.log import Batch
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import SqliteLog
from hudkit.log.stores import high_water_mark as marks
from hudkit.testing.store_conformance import make_draft, note_drafts
from waiting import PATIENCE

CHILD = Path(__file__).with_name("writer_child.py")
KILLS = Campaign("kills", quick=40, full=1000)


def start(path: Path, session: str, count: int, group: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(CHILD), str(path), session, str(count), str(group)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@KILLS
@pytest.mark.slow
def test_no_acknowledged_event_is_lost_over_many_kills(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    chance = KILLS.chance(9)
    acknowledged: list[int] = []
    for turn in range(KILLS.rounds):
        child = start(path, "s", 0, (1, 4)[turn % 2])
        assert child.stdout is not None
        first = child.stdout.readline()  # it writes: kill it somewhere in what follows
        time.sleep(chance.uniform(0, 0.02))
        child.send_signal(signal.SIGKILL)
        seen = (first + child.stdout.read()).split(b"\n")
        child.wait()
        child.stdout.close()
        acknowledged += [int(line) for line in seen[:-1]]  # the last piece is empty or cut off
        if turn % 20 == 19:
            with SqliteLog.open(path) as log:
                stored = [event.seq for event in log.read("s")]
                assert stored == list(range(1, len(stored) + 1)), "no gap, no duplicate"
                assert set(acknowledged) <= set(stored), "no acknowledged event is lost"
                assert list(log.verify()) == []
    assert len(acknowledged) == len(set(acknowledged)) >= KILLS.rounds
    with SqliteLog.open(path) as log:
        ids = [event.id for event in log.read("s")]
        assert len(ids) == len(set(ids))


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(6))
def test_processes_that_create_and_write_at_once_leave_no_gap(tmp_path: Path, turn: int) -> None:
    path = tmp_path / "new" / "log.db"
    children = [start(path, session, 60, group) for session, group in (("s", 1), ("s", 3), ("t", 1))]
    outputs = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0, 0, 0]
    with SqliteLog.open(path) as log:
        assert log.last_seq("s") == 120
        assert log.last_seq("t") == 60
        seqs = sorted(int(line) for output in outputs[:2] for line in output.split())
        assert seqs == list(range(1, 121)), "each number was given to one writer"
        assert list(log.verify()) == []


@pytest.mark.slow
def test_two_logs_in_one_process_on_threads(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    logs = [SqliteLog.open(path, busy_timeout=30.0) for _ in range(2)]
    failed: list[BaseException] = []

    def write(log: SqliteLog, name: str) -> None:
        try:
            for number in range(40):
                log.append("shared", [make_draft(NoteAdd(f"{name} {number}"), number)])
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=write, args=(log, str(at))) for at, log in enumerate(logs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [event.seq for event in logs[0].read("shared")] == list(range(1, 81))
    assert list(logs[1].verify()) == []
    for log in logs:
        log.close()


def test_expected_sees_what_another_connection_wrote(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as one, SqliteLog.open(path) as two:
        one.append("s", note_drafts(1), expected=0)
        with pytest.raises(SequenceConflict):
            two.append("s", note_drafts(1, 2), expected=0)
        assert two.append("s", note_drafts(1, 2), expected=1)[0].seq == 2
        assert one.append("s", note_drafts(1, 3), expected=2)[0].seq == 3


@pytest.mark.slow
def test_the_mark_is_synced_within_a_second_of_the_last_write(tmp_path: Path) -> None:
    calls: list[float] = []
    real = marks.sync_file

    def counted(fd: int) -> None:
        calls.append(time.monotonic())
        real(fd)

    marks.sync_file, before = counted, marks.sync_file
    try:
        with SqliteLog.open(tmp_path / "log.db") as log:
            calls.clear()
            log.append("s", note_drafts(1))
            written = time.monotonic()
            while not calls and time.monotonic() < written + PATIENCE:
                time.sleep(0.01)
            assert calls, "a write that nothing follows is synced too"
            synced = len(calls)
            log.append("s", note_drafts(1))
        assert len(calls) == synced + 1, "closing syncs the last write"
    finally:
        marks.sync_file = before
    assert (tmp_path / "log.db.mark").stat().st_size == 512


@pytest.mark.slow
def test_what_did_not_wait_for_the_disk_is_there_at_once_and_its_mark_once_it_is_synced(tmp_path: Path) -> None:
    path, mark = tmp_path / "log.db", tmp_path / "log.db.mark"
    with SqliteLog.open(path) as log, SqliteLog.open(path, read_only=True) as reader:
        log.append("s", note_drafts(1))
        before = mark.read_bytes()
        log.append_together([Batch("s", tuple(note_drafts(1, 2)), sync=False)])
        assert reader.last_seq("s") == 2
        assert mark.read_bytes() == before, "a loss of power may take it: no loss of what was promised"
        deadline = time.monotonic() + PATIENCE
        while mark.read_bytes() == before and time.monotonic() < deadline:
            time.sleep(0.01)
        synced = mark.read_bytes()
        assert synced != before, "it is promised a second later"
        log.append_together([Batch("s", tuple(note_drafts(1, 3)), sync=False)])
    assert mark.read_bytes() != synced, "closing syncs what did not wait"
