"""The tables of a log on PostgreSQL: how they are made and brought to this release, and what was altered by hand.

They are those of the SQLite log (`log_tables`) but for three things. No number orders the events of all sessions: it
would make every writer wait for every other. `heads.appended` orders the sessions by their last event, and
`counters.sessions` counts the sessions that there were, so that one that is taken away whole is noticed. Old bodies
have no archive: the server compresses long values by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from hudkit.errors import StoreDamaged, StoreDenied, StoreError, StoreMissing, StoreReadOnly, StoreTooNew
from hudkit.log import Finding
from hudkit.log.stores.postgres_server import PostgresAddress, PostgresServer

POSTGRES_MIGRATIONS: Sequence[tuple[str, ...]] = (
    (
        "CREATE TABLE schema_version (version integer NOT NULL)",
        "INSERT INTO schema_version VALUES (0)",
        # ids and types compare by their bytes, whatever the database's language
        """CREATE TABLE events (
            session_id text COLLATE "C" NOT NULL,
            seq bigint NOT NULL,
            id text COLLATE "C" NOT NULL,
            turn bigint NOT NULL,
            timestamp bigint NOT NULL,
            type text COLLATE "C" NOT NULL,
            v bigint NOT NULL,
            origin text COLLATE "C" NOT NULL,
            body bytea,
            digest bytea NOT NULL,
            link bytea NOT NULL,
            PRIMARY KEY (session_id, seq)
        )""",
        # one row per session: where its chain ends. Whoever appends changes it, so it orders the writers, too.
        """CREATE TABLE heads (
            key bigint PRIMARY KEY,
            session_id text COLLATE "C" NOT NULL UNIQUE,
            seq bigint NOT NULL,
            link bytea NOT NULL,
            appended bigint NOT NULL
        ) WITH (fillfactor = 50)""",
        "CREATE SEQUENCE appends",
        "CREATE TABLE counters (sessions bigint NOT NULL)",
        "INSERT INTO counters VALUES (0)",
        """CREATE TABLE snapshots (
            session_id text COLLATE "C" NOT NULL,
            version bytea NOT NULL,
            seq bigint NOT NULL,
            body bytea NOT NULL,
            digest bytea NOT NULL,
            PRIMARY KEY (session_id, version, seq)
        )""",
        """CREATE TABLE damage (
            key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            code text NOT NULL,
            session_id text COLLATE "C" NOT NULL,
            seq bigint NOT NULL,
            message text NOT NULL,
            UNIQUE (code, session_id, seq)
        )""",
    ),
    (
        # who is at work on a session now; `expires` in Unix ms, `items` is what the holder has in hand
        """CREATE TABLE leases (
            session_id text COLLATE "C" NOT NULL,
            holder text COLLATE "C" NOT NULL,
            exclusive boolean NOT NULL,
            fence bigint NOT NULL,
            expires bigint NOT NULL,
            items bigint[] NOT NULL,
            PRIMARY KEY (session_id, holder)
        ) WITH (fillfactor = 50)""",
        "CREATE UNIQUE INDEX one_holder ON leases (session_id) WHERE exclusive",
        "CREATE SEQUENCE lease_fences",
    ),
)
"""A released step is never edited: databases that have had it exist."""

_TABLES = frozenset({"counters", "damage", "events", "heads", "leases", "schema_version", "snapshots"})

_LOCK_OF_MIGRATIONS = 0x4855444B
"""The advisory lock (the letters HUDK) under which one process at a time makes or changes tables."""


def prepare_tables(server: PostgresServer, *, read_only: bool) -> None:
    """Check the log in a schema; make it where it is missing, or bring it to this release, unless `read_only`.

    Raises `StoreMissing` where there is none to read, `StoreTooNew`, `StoreReadOnly` where it must be changed first,
    `StoreDamaged` where the schema is another program's or was altered, `StoreDenied`, `StoreError` for a database
    that does not keep UTF-8.
    """
    server.run(lambda db: _prepare(db, server.address, read_only))


def _prepare(db: psycopg.Connection, address: PostgresAddress, read_only: bool) -> None:
    encoding = _scalar(db, "SHOW server_encoding")
    if encoding != "UTF8":
        hint = "Make another one: createdb --encoding=UTF8 --template=template0"
        message = f"{address.label}: the database keeps text as {encoding}, which has no place for all characters"
        raise StoreError(message, hint=hint)
    version = _stored_version(db, address)
    if version < len(POSTGRES_MIGRATIONS):
        if read_only and not version:
            hint = "It begins with the first event; the schema is the parameter `schema` of the address"
            message = f"{address.label}: there is no log in schema {address.schema}"
            raise StoreMissing(message, hint=hint, schema=address.schema)
        if read_only:
            raise StoreReadOnly(
                f"{address.label} has schema version {version}; it must be brought to {len(POSTGRES_MIGRATIONS)}"
                " before it can be read",
                hint="Open it once for writing",
            )
        _migrate(db, address)
    altered = altered_tables(db, address)
    if altered is not None:
        raise StoreDamaged(altered.message, hint="Take back what was changed", finding=altered)


def altered_tables(db: psycopg.Connection, address: PostgresAddress) -> Finding | None:
    """Return what somebody added to our tables that can take back what was acknowledged, or show what never was.

    `None` where nothing was altered. Looked for are tables that are missing, or none (a view in their place), and
    triggers, rules and policies on them.
    """
    tables = {str(row[0]) for row in db.execute(_SELECT_TABLES, (address.schema,)).fetchall()}
    altered = [f"table {name} is missing" for name in sorted(_TABLES - tables)]
    altered += [f"{kind} {name} was added" for kind, name in db.execute(_SELECT_ADDED, {"schema": address.schema})]
    if not altered:
        return None
    return Finding("file", "", 0, f"{address.label}: its schema was altered: {', '.join(altered)}")


# The catalogue's tables are asked, and not its functions: these answer from a cache that knows nothing of what
# another process made while the lock of migrations was waited for.
_SELECT_SCHEMA = "SELECT oid FROM pg_namespace WHERE nspname = %s"
_SELECT_TABLES = f"SELECT c.relname FROM pg_class c WHERE c.relnamespace = ({_SELECT_SCHEMA}) AND c.relkind = 'r'"
_OURS = "c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %(schema)s)"
_SELECT_ADDED = f"""
    SELECT 'trigger', t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE {_OURS} AND NOT t.tgisinternal
    UNION ALL SELECT 'rule', r.rulename FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
        WHERE {_OURS} AND r.rulename <> '_RETURN'
    UNION ALL SELECT 'policy', p.polname FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE {_OURS}
    ORDER BY 1, 2
"""


def _stored_version(db: psycopg.Connection, address: PostgresAddress) -> int:
    """Return how many steps the log has had, 0 for none. Raises `StoreTooNew`, and `StoreDamaged` for what is no
    log."""
    newest = len(POSTGRES_MIGRATIONS)
    tables = {str(row[0]) for row in db.execute(_SELECT_TABLES, (address.schema,)).fetchall()}
    if not tables:
        return 0
    rows: list[tuple[int]] = []
    if "schema_version" in tables:
        # With its schema: without the right to look into it, the table would not seem to be there.
        rows = db.execute(f"SELECT version FROM {address.schema}.schema_version").fetchall()
    if len(rows) != 1 or not rows[0][0] >= 1:
        finding = Finding("file", "", 0, f"{address.label}: schema {address.schema} is not a log of hudkit")
        raise StoreDamaged(finding.message, hint="Name another schema with `?schema=NAME`", finding=finding)
    version = int(rows[0][0])
    if version > newest:
        raise StoreTooNew(
            f"{address.label} has schema version {version}; this hudkit knows up to {newest}",
            hint="Use the version of hudkit that wrote it, or a newer one",
            version=version,
        )
    return version


def _migrate(db: psycopg.Connection, address: PostgresAddress) -> None:
    """Bring a log to this release, in one transaction: a crash leaves it as it was."""
    with db.transaction():
        # Two processes that open it at once do each step once.
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_OF_MIGRATIONS,))
        if _scalar(db, _SELECT_SCHEMA, address.schema) is None:
            if not _scalar(db, "SELECT has_database_privilege(current_database(), 'CREATE')"):
                hint = f"Its owner does it: CREATE SCHEMA {address.schema} AUTHORIZATION USER"
                raise StoreDenied(f"{address.label}: this user may not make schema {address.schema}", hint=hint)
            db.execute(f"CREATE SCHEMA {address.schema}")
        version = _stored_version(db, address)
        for step in POSTGRES_MIGRATIONS[version:]:
            for statement in step:
                db.execute(statement)
        db.execute("UPDATE schema_version SET version = %s", (len(POSTGRES_MIGRATIONS),))


def _scalar(db: psycopg.Connection, query: str, *args: object) -> object:
    row = db.execute(query, args or None).fetchone()
    return None if row is None else row[0]
