"""Where the log is, and which session is meant."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from hudkit.api import Hud
from hudkit.errors import ConfigError
from hudkit.events.log import EventLog

SCHEMA = 1
"""Version of what `--json` prints; raised when a field changes its meaning or goes away."""


def default_path() -> Path:
    """The user's log: `hudkit.db` in the platform's data directory; `HUDKIT_DB` names another."""
    named = os.environ.get("HUDKIT_DB")
    if named:
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_dir("hudkit", appauthor=False)) / "hudkit.db"


def log_arguments(one: argparse.ArgumentParser) -> None:
    """The options of every command that reads a log."""
    one.add_argument("--db", type=Path, metavar="FILE", help="the log (default: the user's own, or $HUDKIT_DB)")
    one.add_argument("--json", action="store_true", help="print facts as JSON")


def open_read_only(path: Path | None) -> Hud:
    """The log, for reading. Raises `ConfigError` where there is none, a `StoreError` where it cannot be read."""
    from hudkit.store import open_log

    path = path or default_path()
    if not path.exists():
        raise ConfigError(f"there is no log at {path}", hint="Name one with --db, or run `hudkit demo` to see one")
    return Hud(open_log(path, read_only=True))


def pick(log: EventLog, asked: str | None) -> str:
    """The session that is meant by an id or a part of one; without one, the only or the newest one.

    Raises `ConfigError` naming the candidates.
    """
    known = log.sessions()
    if not known:
        raise ConfigError("the log has no sessions", hint="They begin with their first event")
    if asked is None:
        return known[-1]
    if asked in known:
        return asked
    alike = [one for one in known if asked in one]
    if len(alike) == 1:
        return alike[0]
    some = ", ".join((alike or list(known))[-5:])
    raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r}", hint=f"Sessions: {some}")
