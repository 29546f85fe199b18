"""`hudkit show --sessions`: every session of a log."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePath

from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.styles import on_terminal, print_lines, print_table
from hudkit.compose import visible
from hudkit.hud.session_keys import PROJECT_LOG
from hudkit.hud.session_lookup import last_start, recorded_title, short_ids
from hudkit.log import SessionHead
from hudkit.log.event_log import EventLog


def print_sessions(log: EventLog, *, json: bool) -> None:
    """Print every session: for programs and pipes its key, for people what they can type and recognize it by."""
    if json:
        last = {head.session_id: head.timestamp for head in log.heads()}
        rows = [_session_facts(log, name, last.get(name)) for name in log.sessions()]
        print(as_json({"schema": SCHEMA, "sessions": rows}))
    elif on_terminal():
        heads = [head for head in log.heads() if not head.session_id.startswith(f"{PROJECT_LOG}@")]
        short = short_ids([head.session_id for head in heads])
        table = [(short[head.session_id], *_session_row(log, head)) for head in reversed(heads)]
        print_table(("id", "last", "title", "host", "project", "events"), table, 2, ("cyan", "dim"))
        print_lines(("", "A session is named by its id, a part of it, or words of its title."), (("^A .*", "dim"),))
    else:
        print_lines(f"{log.last_seq(name):>8} events  {visible(name)}" for name in log.sessions())


def _session_facts(log: EventLog, name: str, last: int | None) -> dict[str, object]:
    start = last_start(log, name)
    about = {"title": recorded_title(log, name), "host": start.host, "directory": start.directory, "last": last}
    return {"id": name, "events": log.last_seq(name), **about}


def _session_row(log: EventLog, head: SessionHead) -> tuple[str, str, str, str, str]:
    start = last_start(log, head.session_id)
    title = recorded_title(log, head.session_id)
    return _minute(head.timestamp), title, start.host, PurePath(start.directory).name, f"{head.seq:,}"


def _minute(timestamp: int) -> str:
    """A time on this machine's clock, to the minute."""
    try:
        return datetime.fromtimestamp(timestamp / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
