"""The embedded scheduler is a scheduler, over a log in memory and over SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.log import EventLog, Origin
from hudkit.log.stores import open_log
from hudkit.rooms import world_events as e
from hudkit.rooms.scheduler import HeapScheduler
from hudkit.rooms.scheduler.protocol import JobClaim
from hudkit.rooms.world_log import Transaction, WorldLog
from hudkit.testing.scheduler_conformance import NOON, SchedulerConformance, SchedulerHarness


class HeapPlace:
    def __init__(self, log: EventLog, path: Path | None) -> None:
        self._log, self._path = log, path
        self.world_log = WorldLog(log, clock=lambda: NOON)
        if not self.world_log.world.seq:
            with self.world_log.transaction(Origin.SYSTEM) as transaction:
                transaction.append(e.WorldCreated("w", 1))
        self.scheduler = HeapScheduler(self.world_log, lambda: NOON)

    def add(self, tx: Transaction, due: int) -> int:
        id = tx.world.next_agent
        tx.append(e.AgentCreated(id, "persona", f"A{id}", "b", "m", first_due=due))
        tx.append(e.RoomJoined(id, id))
        return id

    def remove(self, tx: Transaction, job: int) -> None:
        tx.append(e.AgentRetired(job))

    def begin(self, tx: Transaction, claim: JobClaim) -> None:
        tx.append(e.BeatBegun(claim.job, claim.fence, NOON, claim.due, "", 0, "json", "m"))

    def note(self, tx: Transaction, text: str) -> None:
        tx.append(e.MessagePosted(tx.world.next_message, 1, 1, text))

    def notes(self) -> list[str]:
        self.world_log.refresh()
        return [message.content for message in self.world_log.world.messages.values()]

    def again(self) -> SchedulerHarness:
        return HeapPlace(self._log if self._path is None else open_log(self._path), self._path)

    def close(self) -> None:
        if self._path is not None:
            self.world_log.close()


class TestHeapInMemory(SchedulerConformance):
    def open_scheduler(self) -> SchedulerHarness:
        return HeapPlace(open_log(None), None)


class TestHeapOnSqlite(SchedulerConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "world.db"

    def open_scheduler(self) -> SchedulerHarness:
        return HeapPlace(open_log(self.path), self.path)


def test_a_sleeper_is_due_when_its_sleep_ends_and_a_wake_ends_it() -> None:
    place = HeapPlace(open_log(None), None)
    with place.scheduler.transaction() as tx:
        job = place.add(tx, NOON)
    with place.scheduler.transaction() as tx:
        tx.append(e.AgentSlept(job, NOON + 60_000))
    assert place.scheduler.next_due() == NOON + 60_000
    with place.scheduler.transaction():
        place.scheduler.wake(job, NOON + 10)
    assert place.scheduler.next_due() == NOON + 10


def test_the_retired_are_never_due() -> None:
    place = HeapPlace(open_log(None), None)
    with place.scheduler.transaction() as tx:
        first, second = place.add(tx, NOON), place.add(tx, NOON)
    with place.scheduler.transaction() as tx:
        (claim,) = place.scheduler.claim(NOON)
        tx.append(e.AgentRetired(first))
        tx.append(e.AgentRetired(second))
    assert place.scheduler.next_due() is None
    assert not place.scheduler.holds(claim)


def test_of_two_in_a_loop_only_the_architect_wakes_one() -> None:
    place = HeapPlace(open_log(None), None)
    with place.scheduler.transaction() as tx:
        job, other = place.add(tx, NOON), place.add(tx, NOON)
        tx.append(e.AgentThrottled(job, other, 1, NOON + 60_000))
        tx.append(e.AgentWoken(job, other, "mention", NOON + 1_000))
    assert place.scheduler.due(job) == NOON + 60_000 == place.world_log.world.agents[job].due
    with place.scheduler.transaction() as tx:
        tx.append(e.AgentWoken(job, e.ARCHITECT, "mention", NOON + 1_000))
    assert place.scheduler.due(job) == NOON + 1_000 == place.world_log.world.agents[job].due
