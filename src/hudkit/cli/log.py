"""`hudkit log`: the events of a session, one line each."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime

import msgspec

from hudkit.cli.place import SCHEMA, log_arguments, open_read_only, pick
from hudkit.document import shorten, visible
from hudkit.events import Event, Unknown

EXAMPLE = "hudkit log ses_1 --after 100 --type decision"


def arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    one.add_argument("--after", type=int, default=0, metavar="SEQ", help="only events after this one")
    one.add_argument("--type", default="", metavar="NAME", help="only events whose type begins with this")
    log_arguments(one)


def run(given: argparse.Namespace) -> int:
    with open_read_only(given.db) as hud:
        name = pick(hud.log, given.session)
        for event in hud.log.read(name, after=max(given.after, 0)):
            if event.type.startswith(given.type):
                print(_as_json(event) if given.json else _line(event))
    return 0


def body(event: Event) -> object:
    """An event's payload as plain values; unknown types as they were stored."""
    if event.payload is None:
        return {"redacted": True}
    if isinstance(event.payload, Unknown):
        return {"unknown": event.payload.body.decode("utf-8", "replace")}
    fields = msgspec.to_builtins(event.payload)
    fields.pop("type", None)
    return fields


def _as_json(event: Event) -> str:
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
        "payload": body(event),
    }
    return json.dumps(facts, ensure_ascii=False)


def _line(event: Event) -> str:
    at = datetime.fromtimestamp(event.timestamp / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    words = shorten(visible(json.dumps(body(event), ensure_ascii=False)), 120)
    return f"{event.seq:>6}  {at}  turn {event.turn:<4} {event.origin.value:<6} {event.type:<18} {words}"
