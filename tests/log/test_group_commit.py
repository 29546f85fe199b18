"""Group commit: concurrent callers share commits, each is answered when its events are durable, closing drains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from hudkit.errors import SequenceConflict, StoreError, StoreReadOnly
from hudkit.log import Batch, Event
from hudkit.log.stores import GroupCommit, MemoryLog, SqliteLog
from hudkit.testing.store_conformance import note_drafts


class Gated(MemoryLog):
    """A log whose commits wait at a gate; it remembers how many batches each commit had."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.begun, self.groups = Signal(), Signal(), []

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        self.begun.set()
        self.gate.wait(30)
        self.groups.append(len(batches))
        return super().append_many(batches)


def test_what_gathers_during_a_commit_goes_into_the_next_together() -> None:
    log = Gated()
    group = GroupCommit(log)
    first = group.submit(Batch("s", tuple(note_drafts(1))))
    log.begun.wait(30)
    others = [group.submit(Batch(f"s{number}", tuple(note_drafts(1)))) for number in range(15)]
    assert not first.done()
    assert not any(future.done() for future in others), "nothing is acknowledged before its commit"
    log.gate.set()
    assert first.result(30)[0].seq == 1
    assert [future.result(30)[0].session_id for future in others] == [f"s{number}" for number in range(15)]
    assert log.groups == [1, 15]
    group.close()


def test_closing_carries_out_what_was_accepted() -> None:
    log = Gated()
    group = GroupCommit(log)
    futures = [group.submit(Batch("s", tuple(note_drafts(1)))) for _ in range(600)]
    log.gate.set()
    group.close()
    assert [future.result(0)[0].seq for future in futures] == list(range(1, 601))
    assert max(log.groups) <= 256
    with pytest.raises(StoreError):
        group.submit(Batch("s", ()))
    group.close()


def test_a_refusal_reaches_the_caller_that_caused_it_only() -> None:
    log = Gated()
    group = GroupCommit(log)
    futures = [group.submit(Batch("s", tuple(note_drafts(1)), expected=expected)) for expected in (0, 5, 1)]
    log.gate.set()
    assert futures[0].result(30)[0].seq == 1
    assert isinstance(futures[1].exception(30), SequenceConflict)
    assert futures[2].result(30)[0].seq == 2
    group.close()


def test_a_commit_that_fails_is_told_to_everyone_in_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    SqliteLog.open(path).close()
    group = GroupCommit(SqliteLog.open(path, read_only=True))
    futures = [group.submit(Batch("s", tuple(note_drafts(1)))) for _ in range(5)]
    assert {type(future.exception(30)) for future in futures} == {StoreReadOnly}
    group.close()


def test_one_batch_that_cannot_be_written_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    with SqliteLog.open(tmp_path / "log.db") as log:
        log.append("bad", note_drafts(2))
        log._db.execute("UPDATE events SET link = 5 WHERE session_id = 'bad' AND seq = 2")
        answers = log.append_many([Batch(name, tuple(note_drafts(1))) for name in ("good", "bad", "other")])
        assert [isinstance(answer, StoreError) for answer in answers] == [False, True, False]
        assert (log.last_seq("good"), log.last_seq("bad"), log.last_seq("other")) == (1, 2, 1)


@pytest.mark.slow
def test_many_threads_each_see_their_own_events(tmp_path: Path) -> None:
    group = GroupCommit(SqliteLog.open(tmp_path / "log.db"))
    wrong: list[object] = []

    def write(name: str) -> None:
        for number in range(25):
            (event,) = group.append(name, note_drafts(1, number), expected=number)
            if (event.session_id, event.seq) != (name, number + 1) or group.last_seq(name) != number + 1:
                wrong.append(event)

    threads = [Thread(target=write, args=(f"s{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert [group.last_seq(f"s{number}") for number in range(8)] == [25] * 8
    assert list(group.verify()) == []
    group.close()
