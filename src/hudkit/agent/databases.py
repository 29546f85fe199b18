"""The databases of a user beside the log, and of which kind a file is: for backups, and for what puts one back."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

from hudkit.agent.request_log import REQUESTS_FILE, REQUESTS_SCHEMA
from hudkit.agent.session_store import SESSIONS_FILE, SESSIONS_SCHEMA
from hudkit.errors import StoreDamaged, StoreTooNew
from hudkit.log.stores.migrations import check_version
from hudkit.log.stores.recovery import LOG, DatabaseKind, database_kind
from hudkit.log.stores.sqlite_files import connect_reader, store_errors

_SECONDS = 5.0

AGENT_DATABASES = {SESSIONS_FILE: SESSIONS_SCHEMA, REQUESTS_FILE: REQUESTS_SCHEMA}
"""The agent's databases in the data directory."""


def existing_databases(log: Path, data: Path) -> list[tuple[Path, DatabaseKind]]:
    """Return the log, and those databases of the agent that are in the data directory, each with its kind."""
    agent = [(data / name, database_kind(schema)) for name, schema in AGENT_DATABASES.items()]
    return [(log, LOG), *((path, kind) for path, kind in agent if path.exists())]


def kind_of(path: Path) -> tuple[str, DatabaseKind]:
    """Return which of the agent's databases a file is (its name in the data directory), and its kind.

    A file that is none of them is taken for a log: its name is empty. Raises a `StoreError` where it cannot be read.
    """
    for name, schema in AGENT_DATABASES.items():
        with suppress(StoreDamaged, StoreTooNew), store_errors(path), closing(connect_reader(path, _SECONDS)) as db:
            if check_version(db, path, schema) or db.execute("SELECT 1 FROM sqlite_master").fetchone():
                return name, database_kind(schema)
    return "", LOG
