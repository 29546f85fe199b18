"""Where the log and the settings are, which session is meant, and how facts are printed."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hudkit.config import Settings, load
from hudkit.errors import ConfigError, StoreDamaged
from hudkit.hud.session_keys import PROJECT_LOG
from hudkit.log.event import Event
from hudkit.log.event_log import EventLog
from hudkit.paths import config_path, log_path

if TYPE_CHECKING:
    from hudkit.api import Hud
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import TypeAlias

from hudkit.compose import visible

SCHEMA = 1
"""Version of what `--json` prints; raised when a field changes its meaning or goes away."""


def user_settings(name: str) -> Settings:
    """Read and return the user's settings for command `name`.

    What is wrong with them is said on the error stream, and left out.
    """
    from hudkit.cli import complain

    loaded = load(config_path())
    for warning in loaded.warnings:
        complain(name, f"{warning}; going on with the defaults (see `hudkit config check`)")
    for renamed in loaded.renamed:
        complain(name, renamed)
    return loaded.settings


def log_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that reads a log to a parser."""
    parser.add_argument("--db", type=Path, metavar="FILE", help="the log (default: $HUDKIT_DB, else the user's own)")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


def there(path: Path | None) -> Path:
    """Return the log's path. Raises `ConfigError` where there is none."""
    path = path or log_path()
    if not os.path.lexists(path):
        hint = (
            "It begins with the first event. Name another with --db or HUDKIT_DB, or run `hudkit demo` to see a HUD"
        )
        raise ConfigError(f"there is no log at {path}", hint=hint)
    return path


def open_read_only(path: Path | None, name: str) -> Hud:
    """Open the log for reading by command `name`, with the user's settings, and return it.

    Raises `ConfigError` where there is none, a `StoreError` where it cannot be read.
    """
    from hudkit.api import Hud
    from hudkit.log.stores import open_log

    return Hud(open_log(there(path), read_only=True), settings=user_settings(name))


def pick(log: EventLog, asked: str | None) -> str:
    """Return the session that is meant by an id or a part of one; without one, the only or the newest one.

    Raises `ConfigError` naming the candidates.
    """
    sessions = log.sessions()
    if not sessions:
        raise ConfigError("the log has no sessions", hint="They begin with their first event")
    if asked is None:
        return next((name for name in reversed(sessions) if not name.startswith(f"{PROJECT_LOG}@")), sessions[-1])
    if asked in sessions:
        return asked
    alike = [name for name in sessions if asked in name]
    if len(alike) == 1:
        return alike[0]
    some = ", ".join((alike or list(sessions))[-5:])
    raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r}", hint=f"Sessions: {some}")


def sound(log: EventLog, session: str, after: int = 0) -> Iterator[Event | StoreDamaged]:
    """Yield the events of a session in order; where one does not verify, its error is the last that comes."""
    try:
        yield from log.read(session, after=after)
    except StoreDamaged as error:
        yield error


def as_json(facts: object, *, lines: bool = False) -> str:
    """Return JSON in ASCII, so that no output can spoil it; with `lines`, all in one line."""
    return json.dumps(facts, indent=None if lines else 2)


Progress: TypeAlias = Callable[[int, int, str], None]
"""Is told what is done, of how much, and at what the work is."""


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Yield a bar where the error stream is a terminal, else `None`; it is gone when the work is done."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def show(done: int, total: int, title: str) -> None:
            bar.update(task, completed=done, total=total, description=visible(title[:40]))

        yield show
