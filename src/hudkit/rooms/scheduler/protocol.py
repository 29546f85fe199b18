"""Schedulers: the protocol, with a fence that keeps a beat from being applied twice, and the embedded one, a heap.

The fence. A beat lasts as long as a language model thinks, and meanwhile its process may die, stand still, or be
overtaken by another one that believes it dead. So each claim of a job that is begun has a number, higher than that of
the claim before, and what comes of a beat is only written where its claim still holds, in the same transaction. For
example:

    process A claims agent 7 and begins beat 12 (fence 12); its model thinks, and A stands still
    process B finds beat 12 begun and not finished, gives it up as lost, and begins beat 13 (fence 13)
    process A wakes up with the answer to beat 12: `holds` says no, and nothing of the answer is written

Where the store refuses an append that another process came before (`SequenceConflict`), what was checked in a
transaction still holds when its events are appended.

The heap. The world knows when each agent is due; `HeapScheduler` is an index of that in the process, and follows what
is appended to the log. A claim is begun by a `BeatBegun` event, and its fence is the beat's number. The heap holds
pairs of time and agent, and is never searched: when an agent's time changes, the new pair is pushed and the old one
stays. `_due` says which time counts, so a pair that comes to the top and does not match it is dropped. For example,
agent 7 is due at 100, then woken for 60: the heap has (60, 7) and (100, 7), and `_due[7]` is 60. Its beat takes
(60, 7) and removes `_due[7]`; when (100, 7) comes up it matches nothing. Both changing and taking cost O(log n), with
5,000 agents too.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from types import NoneType
from typing import Protocol, TypeVar

import msgspec

from hudkit.errors import HudkitError
from hudkit.log import Origin
from hudkit.rooms import world_events as e
from hudkit.rooms.world_log import Transaction, WorldLog


class StaleClaim(HudkitError):
    """A claim that does not hold any more: somebody else finished it, or began it first, or its job went before it
    was begun. Nothing of the transaction has happened."""

    code = "fenced"


class JobClaim(msgspec.Struct, frozen=True):
    """A job in one's hands. `fence` is higher with every claim of this job that was begun; `due` was its time."""

    job: int
    fence: int
    due: int


class BeatLeases(Protocol):
    """Who lives of the processes that play the same log. It spares beats; what keeps one from being applied twice is
    the fence."""

    def hold(self, agents: Collection[int]) -> None:
        """Let others know that the beats of these agents are in the hands of this process; of all others, none is."""
        ...

    def is_time_to_look(self) -> bool:
        """Return whether to look for lost beats now: every so often, and not by a world's time."""
        ...

    def lost(self, begun: Mapping[int, int]) -> frozenset[int]:
        """Return which of these beats (numbers, by agent) nobody who lives has in hand."""
        ...


Tx_co = TypeVar("Tx_co", covariant=True)


class Scheduler(Protocol[Tx_co]):
    """Jobs and the times (Unix ms) at which they are due.

    Every verb belongs into a transaction, and takes effect with the events that are appended in it, or not at all.
    A claim that is begun (by an event that its owner appends in the same transaction) outlives the process; one that
    is not, is given up with the process. A job is claimed once at a time, by whoever asks, in whatever process. Where
    others do not know of a claim before it is begun, only the first that begins it holds it.
    """

    def transaction(self) -> AbstractContextManager[Tx_co]:
        """Return a transaction: all or nothing.

        Where the block or the append raises, nothing of it has happened, and the error goes on.
        """
        ...

    def schedule(self, job: int, due: int) -> None:
        """Let a job be due at `due`, sooner or later than it was."""
        ...

    def wake(self, job: int, due: int) -> None:
        """Let a job be due at `due` at the latest."""
        ...

    def claim(self, now: int, limit: int = 1, *, job: int | None = None) -> tuple[JobClaim, ...]:
        """Take what is due, at most `limit`, the longest due first; or one job, whenever it is due. Return the
        claims.

        Of what is taken, nothing more is given out before it is finished.
        """
        ...

    def finish(self, claim: JobClaim, due: int) -> None:
        """Give a job back; it is due again at `due`. Raises `StaleClaim` where the claim does not hold any more."""
        ...

    def holds(self, claim: JobClaim) -> bool:
        """Return whether `finish` would take it."""
        ...

    def begun(self) -> tuple[JobClaim, ...]:
        """Return claims that were begun, by anybody, and not finished. After a crash they are lost: finish them."""
        ...

    def due(self, job: int) -> int | None:
        """Return when a job is due next; `None` where there is none, or it is in somebody's hands."""
        ...

    def next_due(self) -> int | None:
        """Return when the first job is due; `None` where none is."""
        ...


_DUE_CHANGES = (e.AgentCreated, e.AgentSlept, e.BeatScheduled, e.AgentThrottled)
_WATCHED = frozenset((NoneType, *_DUE_CHANGES, e.AgentWoken, e.BeatBegun, e.BeatFinished, e.AgentRetired))


class HeapScheduler:
    """The schedule of a world's log. `clock` gives the world's time."""

    def __init__(self, world_log: WorldLog, clock: Callable[[], int]) -> None:
        """It follows `world_log` from here on."""
        self._world_log = world_log
        self._clock = clock
        self._heap: list[tuple[int, int]] = []
        self._due: dict[int, int] = {}
        self._claims: dict[int, JobClaim] = {}
        """Claims of ours, by job, that were not begun yet."""
        self._overtaken: dict[int, JobClaim] = {}
        """Claims of ours that were not begun when another process began the same beat: they look the same."""
        self._transaction: Transaction | None = None
        world_log.watchers.append(self._follow)
        self._rebuild()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction of the log at the world's time, and yield it."""
        # Claims live in memory only: they are put back where the transaction fails.
        claims = dict(self._claims)
        try:
            with self._world_log.transaction(Origin.SYSTEM, timestamp=self._clock()) as transaction:
                self._transaction = transaction
                yield transaction
        except BaseException:
            self._claims = claims
            self._rebuild()
            raise
        finally:
            self._transaction = None

    def schedule(self, job: int, due: int) -> None:
        """See `Scheduler.schedule`."""
        self._append(e.BeatScheduled(job, due))

    def wake(self, job: int, due: int) -> None:
        """See `Scheduler.wake`; it ends a sleep."""
        self._append(e.AgentWoken(job, e.ARCHITECT, "schedule", due))

    def claim(self, now: int, limit: int = 1, *, job: int | None = None) -> tuple[JobClaim, ...]:
        """Claim due jobs and return the claims; see `Scheduler.claim`."""
        if job is not None:
            return (self._take(job),) if job in self._due else ()
        claims: list[JobClaim] = []
        while len(claims) < limit and (due := self.next_due()) is not None and due <= now:
            claims.append(self._take(self._heap[0][1]))
        return tuple(claims)

    def finish(self, claim: JobClaim, due: int) -> None:
        """See `Scheduler.finish`. A claim that was not begun leaves no event."""
        if not self.holds(claim):
            raise StaleClaim(f"beat {claim.fence} of agent {claim.job} is over", hint="Another one took it over")
        if self._world_log.world.agents[claim.job].current_beat:
            self._append(e.BeatFinished(claim.job, claim.fence, due))
        else:
            del self._claims[claim.job]
            self._put(claim.job, due)

    def holds(self, claim: JobClaim) -> bool:
        """Return whether a claim still holds; see `Scheduler.holds`."""
        agent = self._world_log.world.agents.get(claim.job)
        if agent is None:
            return False
        if agent.current_beat:
            # Begun. Two processes that claim the same beat at once have equal claims; which one began it, only the
            # one that did not can know: it was not begun yet when the other's event came in.
            return agent.current_beat == claim.fence and self._overtaken.get(claim.job) is not claim
        return self._claims.get(claim.job) == claim and agent.beats < claim.fence and not agent.retired

    def begun(self) -> tuple[JobClaim, ...]:
        """Return the claims that were begun and not finished; see `Scheduler.begun`."""
        agents = self._world_log.world.agents.values()
        return tuple(JobClaim(agent.id, agent.current_beat, agent.due) for agent in agents if agent.current_beat)

    def due(self, job: int) -> int | None:
        """Return when a job is due; see `Scheduler.due`."""
        return self._due.get(job)

    def next_due(self) -> int | None:
        """Return when the next job is due; see `Scheduler.next_due`."""
        while self._heap:
            due, job = self._heap[0]
            if self._due.get(job) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def _take(self, job: int) -> JobClaim:
        claim = JobClaim(job, self._world_log.world.agents[job].beats + 1, self._due.pop(job))
        self._claims[job] = claim
        self._overtaken.pop(job, None)
        return claim

    def _append(self, event: e.WorldEvent) -> None:
        if self._transaction is None:
            raise RuntimeError("schedulers are used within a transaction")
        self._transaction.append(event)

    def _put(self, job: int, due: int) -> None:
        agent = self._world_log.world.agents[job]
        if agent.home or agent.retired or agent.current_beat or job in self._claims or self._due.get(job) == due:
            return
        self._due[job] = due
        heapq.heappush(self._heap, (due, job))

    def _follow(self, event: e.WorldEvent | None) -> None:
        """Follow what was folded in; `None`: the world was read again."""
        if type(event) not in _WATCHED:
            return
        if event is None:
            self._rebuild()
        elif isinstance(event, e.AgentWoken):
            agent = self._world_log.world.agents[event.id]
            due = max(event.due, agent.throttled_until) if event.by else event.due
            # Sooner, never later: several may wake it in one round.
            self._put(event.id, min(due, self._due.get(event.id, due)))
        elif isinstance(event, _DUE_CHANGES):
            agent = self._world_log.world.agents[event.id]
            self._put(event.id, max(agent.due, agent.sleeps_until))
        elif isinstance(event, e.BeatBegun):
            self._due.pop(event.agent, None)
            self._claims.pop(event.agent, None)
        elif isinstance(event, e.BeatFinished):
            self._claims.pop(event.agent, None)
            self._put(event.agent, event.due)
        elif isinstance(event, e.AgentRetired):
            self._due.pop(event.id, None)
            self._claims.pop(event.id, None)

    def _rebuild(self) -> None:
        """Begin anew from the world; what was put off because there was nothing new to see is due at once."""
        agents = self._world_log.world.agents
        self._overtaken |= {job: claim for job, claim in self._claims.items() if agents[job].current_beat}
        self._claims = {job: claim for job, claim in self._claims.items() if self.holds(claim)}
        self._heap, self._due = [], {}
        for agent in agents.values():
            self._put(agent.id, max(agent.due, agent.sleeps_until))
