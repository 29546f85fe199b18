"""Leases on the sessions of a log on a server: which processes are at work on one now, and what each has in hand.

A lease is a row that its holder renews. Whose row is not renewed for the length of a lease is taken to be dead, and
anybody may take its place. That is all that a lease says: a process that stands still for longer wakes up and knows
nothing of it. So nothing is safe by a lease; what keeps a thing from being done twice is checked where it is written
(`expected` of an append). A lease only spares the living from doing the same work.

    process A takes session w, and renews its row every second; its row expires three seconds after each renewal
    A is killed; three seconds later its row has expired
    process B takes session w: A's row is deleted, and B's has the next fence

Times are the server's, so that the clocks of many machines need not agree.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from threading import RLock
from typing import Any, NamedTuple

import psycopg

from hudkit.log.stores.postgres_server import PostgresServer, parse_address

_SERVER_TIME = "(extract(epoch from clock_timestamp()) * 1000)::bigint"

_DROP_EXPIRED = "DELETE FROM leases WHERE session_id = %s AND expires <= {now}"
_TAKE = (
    "INSERT INTO leases (session_id, holder, exclusive, fence, expires, items)"
    " VALUES (%s, %s, %s, nextval('lease_fences'), {now} + %s, '{{}}') ON CONFLICT DO NOTHING RETURNING fence"
)
_RENEW = (
    "UPDATE leases SET expires = {now} + %s, items = %s"
    " WHERE session_id = %s AND holder = %s AND fence = %s AND expires > {now}"
)
_OTHERS = "SELECT items FROM leases WHERE session_id = %s AND holder <> %s AND expires > {now}"
_LIVE = "SELECT session_id, holder, exclusive FROM leases WHERE expires > {now} ORDER BY session_id, fence"


class LiveLease(NamedTuple):
    """Who is at work on a session; `exclusive`: nobody else may be so, too."""

    session_id: str
    holder: str
    exclusive: bool


class PostgresLeases:
    """The leases in the schema of a log. Safe to use from several threads; each method raises a `StoreError`."""

    def __init__(self, url: str, *, seconds: float = 3.0, clock: Callable[[], int] | None = None) -> None:
        """Connect. A lease lasts `seconds` from its last renewal. `clock` (Unix ms) stands in for the server's."""
        self.seconds = seconds
        self._server = PostgresServer(parse_address(url))
        self._clock = clock
        self._lock = RLock()

    def take(self, session_id: str, holder: str, *, exclusive: bool) -> int | None:
        """Take a lease on a session and return its fence; `None` where another has the exclusive one.

        The fence is higher than that of every lease before. One that is not exclusive is there beside all others.
        """
        length = round(1000 * self.seconds)
        with self._lock:
            self._run(_DROP_EXPIRED, session_id)
            rows = self._run(_TAKE, session_id, holder, exclusive, length)
        return int(rows[0][0]) if rows else None

    def renew(
        self, session_id: str, holder: str, fence: int, items: Collection[int] = ()
    ) -> list[frozenset[int]] | None:
        """Renew a lease, with what its holder has in hand; return what each other holder has in hand.

        `None` where the lease is over: it was not renewed in time.
        """
        length = round(1000 * self.seconds)
        with self._lock:
            if not self._run(_RENEW + " RETURNING 1", length, sorted(items), session_id, holder, fence):
                return None
            return [frozenset(row[0]) for row in self._run(_OTHERS, session_id, holder)]

    def release(self, session_id: str, holder: str, fence: int) -> None:
        """End a lease; one that is over already is no error."""
        with self._lock:
            sql = "DELETE FROM leases WHERE session_id = %s AND holder = %s AND fence = %s"
            self._run(sql, session_id, holder, fence)

    def live(self) -> list[LiveLease]:
        """Return all leases that are not over."""
        with self._lock:
            return [LiveLease(*row) for row in self._run(_LIVE)]

    def close(self) -> None:
        """Close the connection; leases that were not released end by themselves."""
        with self._lock:
            self._server.close()

    def _run(self, sql: str, *args: object) -> Sequence[tuple[Any, ...]]:
        now = _SERVER_TIME if self._clock is None else str(int(self._clock()))
        query = sql.format(now=now)

        def work(db: psycopg.Connection) -> Sequence[tuple[Any, ...]]:
            cursor = db.execute(query, args)
            return cursor.fetchall() if cursor.description else ()

        return self._server.run(work)
