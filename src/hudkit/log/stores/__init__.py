"""Where events stay: logs behind the `EventLog` protocol, in memory and in SQLite."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hudkit.errors import StoreDamaged
from hudkit.log import EventLog, Finding
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.log.stores.sqlite_files import store_errors
from hudkit.log.stores.sqlite_log import SqliteLog, verify_database

if TYPE_CHECKING:
    from hudkit.log.stores.group_commit import GroupCommit

__all__ = ["GroupCommit", "MemoryLog", "SqliteLog", "open_log", "verify_file"]


def __getattr__(name: str) -> Any:  # a short-lived hook process does not pay for futures and threads
    if name == "GroupCommit":
        from hudkit.log.stores.group_commit import GroupCommit

        return GroupCommit
    raise AttributeError(f"module 'hudkit.log.stores' has no attribute {name!r}")


def open_log(path: str | PathLike[str] | None, *, read_only: bool = False, busy_timeout: float = 5.0) -> EventLog:
    """Return the log at `path`; with `None`, a new one in memory. Errors: see `SqliteLog.open`."""
    return MemoryLog() if path is None else SqliteLog.open(path, read_only=read_only, busy_timeout=busy_timeout)


def verify_file(path: str | PathLike[str], *, busy_timeout: float = 5.0) -> Iterator[Finding]:
    """Return everything that is wrong with the log in a file, also one that is too malformed to be opened.

    Changes nothing. Raises a `StoreError` where the file is absent or cannot be read.
    """
    file = Path(path)
    try:
        with store_errors(file):
            file = file.absolute()
            file.stat()
            return iter(verify_database(file, busy_timeout))
    except StoreDamaged as error:
        finding = error.details["finding"]
        assert isinstance(finding, Finding)
        return iter([finding])
