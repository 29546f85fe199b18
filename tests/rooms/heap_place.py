"""A world whose heap is tried as a scheduler, in any store."""

from __future__ import annotations

from pathlib import Path

from hudkit.log import EventLog, Origin
from hudkit.log.stores import open_log
from hudkit.rooms import world_events as e
from hudkit.rooms.scheduler import HeapScheduler
from hudkit.rooms.scheduler.protocol import JobClaim
from hudkit.rooms.world_log import Transaction, WorldLog
from hudkit.testing.scheduler_conformance import NOON, SchedulerHarness


class HeapPlace:
    def __init__(self, log: EventLog, path: Path | str | None) -> None:
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
