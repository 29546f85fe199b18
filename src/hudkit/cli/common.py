"""Where the log and the settings are, which session is meant, and how facts are printed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVar

from hudkit.cli import complain
from hudkit.compose import shorten, visible
from hudkit.config import Settings, load
from hudkit.errors import ConfigError, StoreBusy
from hudkit.hud.session_keys import PROJECT_LOG
from hudkit.paths import config_path, log_path, log_place

if TYPE_CHECKING:
    from logging import LogRecord

    from hudkit.api import Hud
    from hudkit.log.event_log import EventLog

T = TypeVar("T")

SCHEMA = 1
"""Version of what `--json` prints; raised when a field changes its meaning or goes away."""


def log_to_stderr() -> None:
    """Write what a server warns of on the error stream, a line each, without a traceback; return nothing.

    The text of an error may hold what a stranger wrote; the line has its type and place instead.
    """
    import logging

    handler = logging.StreamHandler()
    handler.addFilter(_shorten_record)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, format="%(name)s: %(message)s")


def _shorten_record(record: LogRecord) -> bool:
    """Make one visible line of a record; return `False` for one about a client that went away, which is no error."""
    error = record.exc_info[1] if record.exc_info else None
    if type(error).__name__ == "ClientDisconnect":
        return False
    text = visible(record.getMessage())
    if error is not None:
        from hudkit.web.http_listener import error_location

        text += f" ({error_location(error)})"
    record.msg, record.args, record.exc_info, record.exc_text = text, (), None, None
    return True


def user_settings(name: str) -> Settings:
    """Read and return the user's settings for command `name`.

    What is wrong with them is said on the error stream, and left out.
    """
    loaded = load(config_path())
    for warning in loaded.warnings:
        complain(name, f"{warning}; going on with the defaults (see `hudkit config check`)")
    for renamed in loaded.renamed:
        complain(name, renamed)
    return loaded.settings


GONE_HINT = (
    "`hudkit restore` puts the newest backup back, where there is one; without, the next event begins a new log"
)
"""What to do where a log was removed."""


def existing_log(path: Path | None) -> Path:
    """Return the log's path. Raises `ConfigError` where there is none."""
    path = path or log_path()
    if not os.path.lexists(path):
        from hudkit.log.stores.sqlite_files import is_gone

        if is_gone(path):
            raise ConfigError(f"{path} is gone: the mark beside it says that it held events", hint=GONE_HINT)
        hint = (
            "It begins with the first event. Name another with --db or HUDKIT_DB, or run `hudkit demo` to see a HUD"
        )
        raise ConfigError(f"there is no log at {path}", hint=hint)
    return path


def open_read_only(path: Path | str | None, name: str) -> Hud:
    """Open the log in a file or at a URL for reading by command `name`, with the user's settings, and return it.

    Raises `ConfigError` where there is none, a `StoreError` where it cannot be read.
    """
    from hudkit.api import Hud
    from hudkit.tokens.counting import DeferredCounter

    counter = DeferredCounter(small_first=True)
    return Hud(open_log_read_only(path), settings=user_settings(name), counter=counter)


def open_log_read_only(path: Path | str | None) -> EventLog:
    """Open the log for reading, without what composes, and return it; errors as `open_read_only`."""
    from hudkit.log.stores import open_log

    place = path or log_place()
    return open_log(existing_log(place) if isinstance(place, Path) else place, read_only=True)


def pick(log: EventLog, asked: str | None) -> str:
    """Return the session that is meant by an id, a part of one, or words of its title; without any, the newest one.

    Raises `ConfigError` naming the candidates.
    """
    sessions = log.sessions()
    if not sessions:
        raise ConfigError("the log has no sessions", hint="They begin with their first event")
    if asked is None:
        return next((name for name in reversed(sessions) if not name.startswith(f"{PROJECT_LOG}@")), sessions[-1])
    titles: dict[str, str] = {}

    from hudkit.hud.session_lookup import matching_sessions, recorded_title

    def title_of(name: str) -> str:
        if name not in titles:
            titles[name] = recorded_title(log, name)
        return titles[name]

    alike = matching_sessions(asked, sessions, title_of)
    if len(alike) == 1:
        return alike[0]
    candidates = (alike or list(sessions))[-5:]
    some = ", ".join(f"{name} {quoted}" if (quoted := _quoted(title_of(name))) else name for name in candidates)
    raise ConfigError(f"{len(alike) or 'no'} sessions match {asked!r}", hint=f"Sessions: {some}")


def _quoted(title: str) -> str:
    return f'"{shorten(title, 40)}"' if title else ""


def report_damage(name: str, damaged: Sequence[int], count: int = 0, command: str = "hudkit repair") -> int:
    """Say for command `name` on the error stream which events are damaged; return the exit code: 1, or 0 for none.

    `damaged` are their numbers, `count` how many there are (not given: just these), `command` mends the log.
    """
    if not damaged:
        return 0
    numbers = ", ".join(map(str, damaged[:10]))
    count = max(count, len(damaged))
    more = f" and {count - 10} more" if count > 10 else ""
    complain(name, f"the log is damaged: left out: event {numbers}{more}; to mend it: {command}")
    return 1


def with_daemon_stopped(do: Callable[[], T]) -> T:
    """Call `do`, which replaces a log, and return its result; a daemon that has the log open is asked to end first.

    It is asked afterwards, too: one that could not open the log serves what verifies of the old one. Raises
    `StoreBusy` where a program that is no daemon of the user's has it open.
    """
    from hudkit.daemon import socket_path
    from hudkit.daemon.client import greet, stop

    path = socket_path.socket_path()
    until = time.monotonic() + _STOP_SECONDS
    stopped = False
    while True:
        try:
            result = do()
            stop(path)
            return result
        except StoreBusy:
            # A daemon gives up its socket before its log, and a host may start the next one at once.
            if greet(path) is not None:
                stopped = stop(path) or stopped
            if not stopped or time.monotonic() > until:
                raise
            time.sleep(0.05)


_STOP_SECONDS = 15.0


def as_json(facts: object, *, lines: bool = False) -> str:
    """Return JSON in ASCII, so that no output can spoil it; with `lines`, all in one line."""
    import json  # who is shown text needs none of it

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


@contextmanager
def written_file(path: Path | None) -> Iterator[TextIO]:
    """Give a new file that only its user can read, or the standard output.

    What is written appears under its name once it is whole. Raises `ConfigError` where there is a file.
    """
    if path is None:
        yield sys.stdout
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if os.path.lexists(path):
            raise FileExistsError
        fd = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConfigError(f"there is a file {path}", hint="Name another one") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", hint="Name a file in a folder") from None
    try:
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
