"""The embedded scheduler is a scheduler, over a log in memory and over SQLite."""

from __future__ import annotations

from pathlib import Path

import pytest
from heap_place import HeapPlace

from hudkit.log.stores import open_log
from hudkit.rooms import world_events as e
from hudkit.testing.scheduler_conformance import NOON, SchedulerConformance, SchedulerHarness


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
