"""The leases of one process: a thread renews them, and hears what others have to tell.

A thread, and not a task of the event loop: a loop that composes HUDs for a second must not look dead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from secrets import token_hex
from threading import Event, RLock, Thread

import psycopg

from hudkit.errors import StoreError
from hudkit.log.stores.postgres_leases import LiveLease, PostgresLeases
from hudkit.log.stores.postgres_server import PostgresServer, parse_address

LEASE_SECONDS = 3.0
"""How long a process that says nothing counts as alive. A killed one's beats come back after that, and at most the
time between two looks (half a second)."""
_RENEWALS = 3
"""Renewals within the length of a lease: two may be late."""


_LOOKS = 6


class SessionLease:
    """A lease of this process on one session, and which beats others have in hand; `scheduler.BeatLeases`."""

    def __init__(
        self, leases: PostgresLeases, session: str, holder: str, fence: int, clock: Callable[[], float]
    ) -> None:
        """Use `LeaseKeeper.take`. `clock` gives seconds."""
        self.session = session
        self.fence = fence
        self._leases = leases
        self._holder = holder
        self._clock = clock
        self._mine: frozenset[int] = frozenset()
        self._others: list[frozenset[int]] = []
        self._unheld: dict[tuple[int, int], float] = {}
        """When a beat was first seen in nobody's hands."""
        self._renewed = self._next_look = clock()
        self._is_over = False
        self.renew()

    @property
    def holds(self) -> bool:
        """Return whether nobody else can have taken the session meanwhile, as far as this process knows."""
        return not self._is_over and self._clock() - self._renewed < self._leases.seconds

    def hold(self, agents: Collection[int]) -> None:
        """See `BeatLeases.hold`; others hear of it with the next renewal."""
        self._mine = frozenset(agents)

    def is_time_to_look(self) -> bool:
        """See `BeatLeases.is_time_to_look`: six times within the length of a lease."""
        now = self._clock()
        if now < self._next_look:
            return False
        self._next_look = now + self._leases.seconds / _LOOKS
        return True

    def lost(self, begun: Mapping[int, int]) -> frozenset[int]:
        """See `BeatLeases.lost`.

        Others say what they have in hand a renewal late. So where anybody else plays, a beat is lost when it was in
        nobody's hands for half the length of a lease.
        """
        if not self._others:
            return frozenset(begun)
        held = frozenset[int]().union(*self._others)
        now = self._clock()
        unheld = {(agent, number) for agent, number in begun.items() if agent not in held}
        self._unheld = {beat: self._unheld.get(beat, now) for beat in unheld}
        grace = self._leases.seconds / 2
        return frozenset(agent for (agent, _), since in self._unheld.items() if now - since >= grace)

    def renew(self) -> None:
        """Say that this process lives. Raises a `StoreError`."""
        before = self._clock()
        others = self._leases.renew(self.session, self._holder, self.fence, self._mine)
        if others is None:
            self._is_over = True
        else:
            self._renewed, self._others = before, others

    def release(self) -> None:
        """End the lease, so that another process may take the session at once. Raises a `StoreError`."""
        self._is_over = True
        self._leases.release(self.session, self._holder, self.fence)


class LeaseKeeper:
    """Takes leases, renews them in a thread, and calls `on_notice` (in that thread) with the session of each notice
    that another process gives."""

    def __init__(
        self,
        url: str,
        *,
        seconds: float = LEASE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Connect. `seconds` is the length of a lease. Raises a `StoreError`."""
        self.holder = token_hex(8)
        self._leases = PostgresLeases(url, seconds=seconds)
        self._address = parse_address(url)
        self._clock = clock
        self._on_notice = on_notice
        self._taken: dict[SessionLease, bool] = {}
        self._lock = RLock()
        self._closing = Event()
        self._thread = Thread(target=self._keep, name="leases", daemon=True)
        self._thread.start()

    def take(self, session: str, *, exclusive: bool) -> SessionLease | None:
        """Return a lease on a session; `None` where another process has the exclusive one. Raises a `StoreError`."""
        fence = self._leases.take(session, self.holder, exclusive=exclusive)
        if fence is None:
            return None
        lease = SessionLease(self._leases, session, self.holder, fence, self._clock)
        with self._lock:
            self._taken[lease] = exclusive
        return lease

    def release(self, lease: SessionLease) -> None:
        """End a lease; where the server does not answer, it ends by itself."""
        with self._lock:
            self._taken.pop(lease, None)
        with suppress(StoreError):
            lease.release()

    def live(self) -> list[LiveLease]:
        """Return all leases of the log that are not over. Raises a `StoreError`."""
        return self._leases.live()

    def close(self) -> None:
        """End all leases and the thread."""
        self._closing.set()
        self._thread.join()
        for lease in list(self._taken):
            self.release(lease)
        self._leases.close()

    def __enter__(self) -> LeaseKeeper:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _keep(self) -> None:
        """Renew what was taken, and listen in between, until the end."""
        while not self._closing.is_set():
            # A server that is away for longer than a lease ends the lease, and not this thread.
            with suppress(StoreError, psycopg.Error):
                self._listen()
            self._closing.wait(0.1)

    def _listen(self) -> None:
        server = PostgresServer(self._address)
        try:
            with server.another() as db:
                db.execute(f"LISTEN {self._address.schema}")
                while not self._closing.is_set():
                    self._renew_all()
                    for notice in db.notifies(timeout=self._leases.seconds / _RENEWALS, stop_after=1):
                        if self._on_notice is not None:
                            self._on_notice(notice.payload)
        finally:
            server.close()

    def _renew_all(self) -> None:
        with self._lock:
            leases = list(self._taken)
        for lease in leases:
            lease.renew()
