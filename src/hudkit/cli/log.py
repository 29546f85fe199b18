"""`hudkit log`: the events of a session, one line each."""

from __future__ import annotations

import argparse
import json
from collections.abc import Set
from contextlib import closing
from datetime import UTC, datetime
from difflib import get_close_matches

import msgspec

from hudkit.cli.common import SCHEMA, as_json, open_log_read_only, pick, report_damage
from hudkit.cli.styles import LOG_STYLES, on_terminal, print_lines
from hudkit.compose import shorten, visible
from hudkit.errors import ConfigError
from hudkit.log import PAYLOADS, Event, Unknown
from hudkit.log.payloads import EventGap


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    with closing(open_log_read_only(args.db)) as log:
        matches, damaged = 0, list[int]()
        stored_types: set[str] = set()
        for event in log.read(pick(log, args.session), after=max(args.after, 0), past_damage=True):
            is_damaged = isinstance(event.payload, EventGap) and event.payload.damaged
            if is_damaged:
                damaged.append(event.seq)
            stored_types.add(event.type)
            if is_damaged or event.type.startswith(args.type):
                matches += 1
                if args.json:
                    print(_facts(event))
                else:
                    print_lines((_line(event),), LOG_STYLES, long="cut")
    if not matches:
        _check_type(args.type, stored_types)
    return report_damage("log", damaged)


def _check_type(prefix: str, stored_types: Set[str]) -> None:
    """Raise `ConfigError` where no type that there is or could be begins so: nothing printed would say "none"."""
    types = sorted({*PAYLOADS, *stored_types})
    if not any(name.startswith(prefix) for name in types):
        near = get_close_matches(prefix, types, 3) or sorted({name.partition(".")[0] for name in types})
        raise ConfigError(f"no event type begins with {shorten(prefix, 60)!r}", hint=f"Types: {', '.join(near)}")


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
    if on_terminal():  # what is in an event is worth more cells than its year and turn
        when = _time(event.timestamp)[_YEAR:]
        return f"{event.seq:>5}  {when}  {event.origin.value:<6} {kind:<17} {words}"
    return (
        f"{event.seq:>6}  {_time(event.timestamp)}  turn {event.turn:<4} {event.origin.value:<6} {kind:<18} {words}"
    )


_YEAR = len("2026-")


def _time(timestamp: int) -> str:
    """A time in words; a clock may have been anywhere, and then its number stands for itself."""
    try:
        return datetime.fromtimestamp(timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (ValueError, OverflowError, OSError):
        return f"{timestamp} ms"
