"""The embedded scheduler: a heap in the process over the times that a world's log has.

The world knows when each agent is due; the heap is an index of that, and follows what is told in the book. A claim is
begun by a `Beat` event, and its fence is the beat's number: an append that another process came before is a conflict,
so what was checked in a transaction still holds when its events are appended.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import NoneType

from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.scheduler.protocol import JobClaim, StaleClaim
from hudkit.rooms.world_log import Transaction, WorldLog

_MOVES = (e.AgentCreated, e.AgentSlept, e.BeatScheduled, e.AgentThrottled)
_FOLLOWED = frozenset((NoneType, *_MOVES, e.AgentWoken, e.BeatBegun, e.BeatFinished, e.AgentRetired))


class HeapScheduler:
    """The schedule of a book. `clock` gives the world's time."""

    def __init__(self, book: WorldLog, clock: Callable[[], int]) -> None:
        self._book = book
        self._clock = clock
        self._heap: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        self._taken: dict[int, JobClaim] = {}
        self._overtaken: dict[int, JobClaim] = {}
        """Claims of ours that were not begun when another process began the same beat: they look the same."""
        self._commit: Transaction | None = None
        book.watchers.append(self._hear)
        self._load()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A commit of the book, at the world's time."""
        taken = dict(self._taken)
        try:
            with self._book.commit(Origin.SYSTEM, at=self._clock()) as commit:
                self._commit = commit
                yield commit
        except BaseException:
            self._taken = taken
            self._load()
            raise
        finally:
            self._commit = None

    def schedule(self, job: int, due: int) -> None:
        """See `Scheduler.schedule`."""
        self._told(e.BeatScheduled(job, due))

    def wake(self, job: int, due: int) -> None:
        """See `Scheduler.wake`; it ends a sleep."""
        self._told(e.AgentWoken(job, e.ARCHITECT, "schedule", due))

    def claim(self, now: int, most: int = 1, *, job: int | None = None) -> tuple[JobClaim, ...]:
        """See `Scheduler.claim`."""
        if job is not None:
            return (self._take(job),) if job in self._due else ()
        found: list[JobClaim] = []
        while len(found) < most and (due := self.next_due()) is not None and due <= now:
            found.append(self._take(self._heap[0][1]))
        return tuple(found)

    def finish(self, claim: JobClaim, due: int) -> None:
        """See `Scheduler.finish`. A claim that was not begun leaves no event."""
        if not self.holds(claim):
            raise StaleClaim(f"beat {claim.fence} of agent {claim.job} is over", hint="Another one took it over")
        if self._book.world.agents[claim.job].beating:
            self._told(e.BeatFinished(claim.job, claim.fence, due))
        else:
            del self._taken[claim.job]
            self._put(claim.job, due)

    def holds(self, claim: JobClaim) -> bool:
        """See `Scheduler.holds`."""
        agent = self._book.world.agents.get(claim.job)
        if agent is None:
            return False
        if agent.beating:
            return agent.beating == claim.fence and self._overtaken.get(claim.job) is not claim
        return self._taken.get(claim.job) == claim and agent.beats < claim.fence and not agent.retired

    def begun(self) -> tuple[JobClaim, ...]:
        """See `Scheduler.begun`."""
        agents = self._book.world.agents.values()
        return tuple(JobClaim(agent.id, agent.beating, agent.due) for agent in agents if agent.beating)

    def due(self, job: int) -> int | None:
        """See `Scheduler.due`."""
        return self._due.get(job)

    def next_due(self) -> int | None:
        """See `Scheduler.next_due`."""
        while self._heap:
            due, job = self._heap[0]
            if self._due.get(job) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def _take(self, job: int) -> JobClaim:
        claim = JobClaim(job, self._book.world.agents[job].beats + 1, self._due.pop(job))
        self._taken[job] = claim
        self._overtaken.pop(job, None)
        return claim

    def _told(self, what: e.WorldEvent) -> None:
        if self._commit is None:
            raise RuntimeError("schedulers are used within a transaction")
        self._commit.tell(what)

    def _put(self, job: int, due: int) -> None:
        agent = self._book.world.agents[job]
        if not agent.retired and not agent.beating and job not in self._taken and self._due.get(job) != due:
            self._due[job] = due
            heapq.heappush(self._heap, (due, job))

    def _hear(self, what: e.WorldEvent | None) -> None:
        """Follow what was folded in."""
        if type(what) not in _FOLLOWED:
            return
        if what is None:
            self._load()
        elif isinstance(what, e.AgentWoken):
            agent = self._book.world.agents[what.id]
            due = max(what.due, agent.slowed_until) if what.by else what.due
            self._put(what.id, min(due, self._due.get(what.id, due)))
        elif isinstance(what, _MOVES):
            agent = self._book.world.agents[what.id]
            self._put(what.id, max(agent.due, agent.sleeps_until))
        elif isinstance(what, e.BeatBegun):
            self._due.pop(what.agent, None)
            self._taken.pop(what.agent, None)
        elif isinstance(what, e.BeatFinished):
            self._taken.pop(what.agent, None)
            self._put(what.agent, what.due)
        elif isinstance(what, e.AgentRetired):
            self._due.pop(what.id, None)
            self._taken.pop(what.id, None)

    def _load(self) -> None:
        """Begin anew from the world; what was put off because there was nothing new to see is due at once."""
        agents = self._book.world.agents
        self._overtaken |= {job: claim for job, claim in self._taken.items() if agents[job].beating}
        self._taken = {job: claim for job, claim in self._taken.items() if self.holds(claim)}
        self._heap, self._due = [], {}
        for agent in agents.values():
            self._put(agent.id, max(agent.due, agent.sleeps_until))
