"""A PostgreSQL server: its address without its secrets, a connection that comes back, and its errors, typed.

The address is a URL as every client of PostgreSQL takes it, with one parameter of our own, `schema`:

    postgresql://ana@db.example.org/notes?sslmode=require&schema=hudkit

A password may be in it, in `PGPASSWORD` or in `~/.pgpass`. `PostgresAddress.label` is what is shown and logged: user,
host, port, database and schema, and nothing of the rest. No text of ours is made from the URL itself.

**A connection that comes back.** A server is restarted, and a network breaks. `PostgresServer.run` then connects
again, for as long as a lock would be waited for, and does the work once more. So what is run has to be harmless when
it is done twice: reading is, and how appending is, stands in `postgres_log`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from math import ceil
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import psycopg
from psycopg import errors as refusals
from psycopg.conninfo import conninfo_to_dict

from hudkit.errors import (
    StoreBusy,
    StoreDamaged,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreUnreachable,
)
from hudkit.log import Finding
from hudkit.paths import shown_place

T = TypeVar("T")

DEFAULT_SCHEMA = "hudkit"
"""Where our tables are in a database, where the address names no other schema."""

_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_PAUSE_SECONDS = 0.05
# A server whose machine is gone closes no connection: without these, a call would wait for hours.
_DEFAULTS = {
    "application_name": "hudkit",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}


class PostgresAddress(NamedTuple):
    """Where a log on a server is: what libpq is told, the schema of our tables, and what may be shown of it."""

    parameters: dict[str, Any]
    schema: str
    label: str

    def __repr__(self) -> str:  # a traceback or a debugger must not show the password
        return f"PostgresAddress({self.label})"


def parse_address(url: str) -> PostgresAddress:
    """Return the address in a URL. Raises a `StoreError` that shows nothing of a URL that cannot be read."""
    hint = "It is postgresql://USER@HOST:PORT/DATABASE?schema=NAME; the password is best in ~/.pgpass or PGPASSWORD"
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        schemas = [value for name, value in query if name == "schema"]
        rest = urlencode([(name, value) for name, value in query if name != "schema"], quote_via=quote)
        parameters = conninfo_to_dict(parts._replace(query=rest).geturl())
    except (ValueError, psycopg.Error):  # both quote what they could not read
        raise StoreError("the address of the PostgreSQL log cannot be read", hint=hint) from None
    schema = schemas[-1] if schemas else DEFAULT_SCHEMA
    if not _SCHEMA_NAME.fullmatch(schema) or schema.startswith("pg_"):
        message = f"{schema!a:.80} cannot be the schema of a log"
        raise StoreError(message, hint="Small letters, digits and `_`, and no digit in front")
    return PostgresAddress({**_DEFAULTS, **parameters}, schema, shown_place(url))


class PostgresServer:
    """One connection to a server, made again where it was lost. Its callers see to it that one thread at a time uses
    it."""

    def __init__(self, address: PostgresAddress, *, read_only: bool = False, timeout: float = 5.0) -> None:
        """Connect. `timeout`, in seconds, is how long locks and a server that is away are waited for."""
        self.address = address
        self._read_only = read_only
        self._timeout = timeout
        self._db: psycopg.Connection | None = None
        # The first time nobody waits for a server that is not there: the address may be wrong.
        self.run(lambda _: None, waits=False)

    def run(self, work: Callable[[psycopg.Connection], T], *, waits: bool = True) -> T:
        """Call `work` with the connection, again after each loss of it until the time is over; return its result.

        Without `waits`, only for a server that is starting. Raises a `StoreError`.
        """
        end = time.monotonic() + self._timeout
        while True:
            db: psycopg.Connection | None = None
            try:
                db = self._connected(end)
                return work(db)
            except psycopg.Error as error:
                is_lost = db is None or db.closed
                if db is not None and db.closed:
                    self.close()
                is_starting = "starting up" in str(error) or "shutting down" in str(error)
                may_come_back = is_lost and (waits or is_starting) and not _is_final(error)
                is_retried = may_come_back or isinstance(error, (refusals.DeadlockDetected, refusals.UniqueViolation))
                if not is_retried or time.monotonic() >= end:
                    raise translate_refusal(error, self.address) from error
            time.sleep(_PAUSE_SECONDS)

    def another(self) -> psycopg.Connection:
        """Return a second connection, for whoever reads for long; its user closes it. Raises a `StoreError`."""
        try:
            return self._connect(time.monotonic() + self._timeout)
        except psycopg.Error as error:
            raise translate_refusal(error, self.address) from error

    def close(self) -> None:
        """Close the connection; the next `run` makes another one."""
        if self._db is not None:
            self._db.close()
        self._db = None

    def _connected(self, end: float) -> psycopg.Connection:
        if self._db is None or self._db.closed:
            self._db = self._connect(end)
        return self._db

    def _connect(self, end: float) -> psycopg.Connection:
        # libpq counts in whole seconds, and takes 1 for 2.
        seconds = max(2, ceil(end - time.monotonic()))
        parameters = {"connect_timeout": seconds, **self.address.parameters, "client_encoding": "utf8"}
        db = psycopg.connect(**parameters, autocommit=True)
        try:
            # Our tables are named without their schema, and no other table can take the place of one.
            db.execute(
                f"SET search_path = {self.address.schema}; SET lock_timeout = {max(1, round(self._timeout * 1000))};"
                f"SET idle_in_transaction_session_timeout = {60_000};"
                f"SET default_transaction_read_only = {'on' if self._read_only else 'off'};"
                # What is acknowledged is on the disk, whatever the server's default; a stricter one stays.
                "SELECT set_config('synchronous_commit', 'on', false)"
                " WHERE current_setting('synchronous_commit') = 'off'"
            )
        except BaseException:
            db.close()
            raise
        return db


# -- errors ----------------------------------------------------------------------------------------------------------

_WRONG_PASSWORD = ("password authentication failed", "no password supplied", "authentication failed")
_NO_ENTRY = ("pg_hba.conf", "permission denied", "is not permitted to log in", 'role "', "user name")


def _is_final(error: psycopg.Error) -> bool:
    """Return whether connecting again would be refused again, as with a wrong password."""
    text = str(error)
    return any(words in text for words in (*_WRONG_PASSWORD, *_NO_ENTRY)) or _names_no_database(text)


def _names_no_database(text: str) -> bool:
    return 'database "' in text and "does not exist" in text


def translate_refusal(error: psycopg.Error, address: PostgresAddress) -> StoreError:
    """Return the error of ours for one of psycopg's: where it was, what was wrong, and what would be right."""
    place, text = address.label, _first_line(error)
    if error.sqlstate is None and isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return _connection_error(text, place)
    for kinds, make in _KINDS:
        if isinstance(error, kinds):
            return make(f"{place}: {text}")
    return StoreError(f"{place}: {text}", hint=f"The server's code for it is {error.sqlstate}")


def _first_line(error: psycopg.Error) -> str:
    """Return the server's own words, in one line."""
    text = error.diag.message_primary or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # A name that is several addresses is tried at each; the last one says it, too.
    return (lines[-1] if lines else type(error).__name__).removeprefix("connection failed: ").rstrip(".")


def _connection_error(text: str, place: str) -> StoreError:
    """Return the error for a connection that was not made or was lost; libpq gives no code with it, only words."""
    database = re.search(r'database "([^"]*)" does not exist', text)
    if database:
        hint = f"Make it: createdb {database[1]}; or name another one"
        return StoreMissing(f"{place}: there is no database {database[1]!r}", hint=hint)
    if any(words in text for words in _WRONG_PASSWORD):
        hint = "Put it into ~/.pgpass or PGPASSWORD; `psql` with the same address tells more"
        return StoreDenied(f"{place}: the server took no password, or another one", hint=hint)
    if any(words in text for words in _NO_ENTRY):
        return StoreDenied(f"{place}: {text}", hint="The server's pg_hba.conf and roles say who may come in")
    if "too many" in text or "remaining connection slots" in text:
        return StoreBusy(f"{place}: {text}", hint="Close other programs, or raise max_connections")
    hint = "Is the server running, and does it listen there? `pg_isready` tells"
    return StoreUnreachable(f"{place}: no answer ({text})", hint=hint)


def _damaged(message: str) -> StoreDamaged:
    finding = Finding("file", "", 0, message)
    return StoreDamaged(message, hint="Put a backup of the server back (pg_restore)", finding=finding)


_KINDS: tuple[tuple[tuple[type[psycopg.Error], ...], Callable[[str], StoreError]], ...] = (
    (
        (refusals.LockNotAvailable, refusals.QueryCanceled, refusals.DeadlockDetected, refusals.TooManyConnections),
        lambda message: StoreBusy(message, hint="Another program is at work there; try again"),
    ),
    (
        (refusals.DiskFull, refusals.OutOfMemory),
        lambda message: StoreFull(message, hint="Make room on the server"),
    ),
    (
        (refusals.ReadOnlySqlTransaction,),
        lambda message: StoreReadOnly(message, hint="Open it for writing, on a server that is no standby"),
    ),
    (
        (refusals.InsufficientPrivilege, refusals.InvalidPassword, refusals.InvalidAuthorizationSpecification),
        lambda message: StoreDenied(message, hint="The schema's owner grants it"),
    ),
    (
        (
            refusals.AdminShutdown,
            refusals.CrashShutdown,
            refusals.CannotConnectNow,
            refusals.IdleInTransactionSessionTimeout,
            refusals.ConnectionException,
        ),
        lambda message: StoreUnreachable(message, hint="The server is stopping or starting; try again"),
    ),
    (
        (
            refusals.UndefinedTable,
            refusals.UndefinedColumn,
            refusals.InvalidSchemaName,
            refusals.DataCorrupted,
            refusals.IndexCorrupted,
            refusals.UniqueViolation,
        ),
        _damaged,
    ),
)
