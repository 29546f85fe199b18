"""The port of schedulers: who is due when, and a fence that keeps a beat from being applied twice."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

import msgspec

from hudkit.errors import HudkitError


class StaleClaim(HudkitError):
    """Somebody else finished this claim, or began it first, or its job went before it was begun: nothing of the
    transaction has happened."""

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
        """All or nothing. Where the block or the append raises, nothing of it has happened, and the error goes on."""
        ...

    def schedule(self, job: int, due: int) -> None:
        """A job is due then, sooner or later than it was."""
        ...

    def wake(self, job: int, due: int) -> None:
        """A job is due then at the latest."""
        ...

    def claim(self, now: int, most: int = 1, *, job: int | None = None) -> tuple[JobClaim, ...]:
        """Take what is due, the longest due first; or one job, whenever it is due. Of what is taken, nothing more is
        given out before it is finished."""
        ...

    def finish(self, claim: JobClaim, due: int) -> None:
        """Give a job back; it is due again then. Raises `Fenced` where the claim does not hold any more."""
        ...

    def holds(self, claim: JobClaim) -> bool:
        """Whether `finish` would take it."""
        ...

    def begun(self) -> tuple[JobClaim, ...]:
        """Claims that were begun, by anybody, and not finished. After a crash they are lost: finish them."""
        ...

    def due(self, job: int) -> int | None:
        """When a job is due next; `None` where there is none, or it is in somebody's hands."""
        ...

    def next_due(self) -> int | None:
        """When the first job is due; `None` where none is."""
        ...
