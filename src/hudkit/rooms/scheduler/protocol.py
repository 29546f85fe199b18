"""The port of schedulers: who is due when, and a fence that keeps a beat from being applied twice.

The fence. A beat lasts as long as a language model thinks, and meanwhile its process may die, stand still, or be
overtaken by another one that believes it dead. So each claim of a job that is begun has a number, higher than that of
the claim before, and what comes of a beat is only written where its claim still holds, in the same transaction. For
example:

    process A claims agent 7 and begins beat 12 (fence 12); its model thinks, and A stands still
    process B finds beat 12 begun and not finished, gives it up as lost, and begins beat 13 (fence 13)
    process A wakes up with the answer to beat 12: `holds` says no, and nothing of the answer is written

Where the store refuses an append that another process came before (`SequenceConflict`), what was checked in a
transaction still holds when its events are appended.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import msgspec

from hudkit.errors import HudkitError


class StaleClaim(HudkitError):
    """A claim that does not hold any more: somebody else finished it, or began it first, or its job went before it
    was begun. Nothing of the transaction has happened."""

    code = "fenced"


class JobClaim(msgspec.Struct, frozen=True):
    """A job in one's hands. `fence` is higher with every claim of this job that was begun; `due` was its time."""

    job: int
    fence: int
    due: int


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
