"""`hudkit log`: the events of a session, one line each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Set
from datetime import UTC, datetime
from difflib import get_close_matches

import msgspec

from hudkit.cli import CliCommand
from hudkit.cli.common import SCHEMA, as_json, log_arguments, open_read_only, pick, report_damage
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError
from hudkit.log import PAYLOADS, Event, Unknown
from hudkit.log.payloads import EventGap

_DETAILS = """\
With `--json`, each line is one event. In the place of a damaged event, `event.gap` says what is wrong with it; the
error stream names them all, and the exit code is 1."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only events after this one")
    parser.add_argument("--type", default="", metavar="NAME", help="only events whose type begins with this")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    with open_read_only(args.db, "log") as hud:
        matches, damaged = 0, list[int]()
        stored_types: set[str] = set()
        for event in hud.log.read(pick(hud.log, args.session), after=max(args.after, 0), past_damage=True):
            is_damaged = isinstance(event.payload, EventGap) and event.payload.damaged
            if is_damaged:
                damaged.append(event.seq)
            stored_types.add(event.type)
            if is_damaged or event.type.startswith(args.type):
                matches += 1
                print(_facts(event) if args.json else _line(event))
    if not matches:
        _check_type(args.type, stored_types)
    return report_damage("log", damaged)


def _check_type(prefix: str, stored_types: Set[str]) -> None:
    """Raise `ConfigError` where no type that there is or could be begins so: nothing printed would say "none"."""
    types = sorted({*PAYLOADS, *stored_types})
    if not any(name.startswith(prefix) for name in types):
        near = get_close_matches(prefix, types, 3) or sorted({name.partition(".")[0] for name in types})
        raise ConfigError(f"no event type begins with {shorten(prefix, 60)!r}", hint=f"Types: {', '.join(near)}")


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
