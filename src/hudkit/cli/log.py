"""`hudkit log`: the events of a session, one line each."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime

import msgspec

from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, open_read_only, pick, sound
from hudkit.compose import shorten, visible
from hudkit.errors import StoreDamaged
from hudkit.log import Event, Unknown

_DETAILS = """\
With `--json`, each line is one event. If the log is damaged, the events before the first bad one are printed, the
error stream says what is wrong, and the exit code is 1."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only events after this one")
    parser.add_argument("--type", default="", metavar="NAME", help="only events whose type begins with this")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    with open_read_only(args.db, "log") as hud:
        for event in sound(hud.log, pick(hud.log, args.session), max(args.after, 0)):
            if isinstance(event, StoreDamaged):
                complain("log", f"the log is damaged from here on: {event}")
                return 1
            if event.type.startswith(args.type):
                print(_facts(event) if args.json else _line(event))
    return 0


COMMAND = CliCommand(
    example="hudkit log ses_1 --after 100 --type decision",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _body(event: Event) -> object:
    """An event's payload as plain values; unknown types as they were stored."""
    if event.payload is None:
        return {"redacted": True}
    if isinstance(event.payload, Unknown):
        return {"unknown": event.payload.body.decode("utf-8", "replace")}
    fields = msgspec.to_builtins(event.payload)
    fields.pop("type", None)
    return fields


def _facts(event: Event) -> str:
    facts = {
        "schema": SCHEMA,
        "id": event.id,
        "session": event.session_id,
        "seq": event.seq,
        "turn": event.turn,
        "timestamp": event.timestamp,
        "type": event.type,
        "v": event.v,
        "origin": event.origin.value,
        "payload": _body(event),
    }
    return as_json(facts, lines=True)


def _line(event: Event) -> str:
    words = shorten(visible(json.dumps(_body(event), ensure_ascii=False)), 120)
    kind = visible(event.type)
    return (
        f"{event.seq:>6}  {_time(event.timestamp)}  turn {event.turn:<4} {event.origin.value:<6} {kind:<18} {words}"
    )


def _time(timestamp: int) -> str:
    """A time in words; a clock may have been anywhere, and then its number stands for itself."""
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
