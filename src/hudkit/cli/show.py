"""`hudkit show`: the frame of a session, now or at any event, as the agent sees it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import msgspec

from hudkit.api import Hud, Session
from hudkit.cli import complain
from hudkit.cli.place import SCHEMA, as_json, log_arguments, open_read_only, pick, sound
from hudkit.document import visible
from hudkit.errors import StoreDamaged
from hudkit.events.log import EventLog

EXAMPLE = "hudkit show ses_1 --at 42"

MORE = """\
A frame that was sent is shown as it was sent, byte for byte; elsewhere, what a call would have got there. Where the
log is damaged, the frame of the last sound event is shown, the error stream says what is wrong, and the exit code
is 1."""


def arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    one.add_argument("--at", type=int, metavar="SEQ", help="the frame at this event (default: the last)")
    one.add_argument("--state", action="store_true", help="print the whole state instead of the frame")
    one.add_argument("--sessions", action="store_true", help="list the sessions of the log")
    log_arguments(one)


def run(given: argparse.Namespace) -> int:
    with open_read_only(given.db, "show") as hud:
        if given.sessions:
            return _sessions({name: hud.log.last_seq(name) for name in hud.sessions()}, given.json)
        name = pick(hud.log, given.session)
        try:
            session = hud.session(name)
            _show(session, session.state.seq if given.at is None else given.at, given)
        except StoreDamaged as error:
            return _rest(hud, name, error, given)
        return 0


def _rest(hud: Hud, name: str, error: StoreDamaged, given: argparse.Namespace) -> int:
    """What can be shown of a damaged session: its last sound event that comes no later than what was asked for."""
    last = _last_sound(hud.log, name)
    at = last if given.at is None else min(given.at, last)
    complain("show", f"the log is damaged: {error}")
    if at > 0:
        _show(hud.session(name), at, given)
        complain("show", f"shown as of event {at}, the last sound one")
    return 1


def _last_sound(log: EventLog, name: str) -> int:
    last = 0
    for event in sound(log, name):
        if not isinstance(event, StoreDamaged):
            last = event.seq
    return last


def _show(session: Session, seq: int, given: argparse.Namespace) -> None:
    if given.state:
        _facts({"state": msgspec.to_builtins(session.state_at(seq))})
        return
    frame = session.frame_at(seq)
    if given.json:
        _facts({"session": session.id, "seq": seq, "frame": msgspec.to_builtins(frame)})
        return
    print(frame.text, end="")
    for one in frame.omitted:
        print(f"(left out: {one.path}: {one.reason})")
    cost = f"{frame.tokens} of {frame.budget} tokens, {frame.density.value}"
    print(f"\n-- {visible(session.id)}, event {seq}: {cost}, epoch {frame.epoch}, {len(frame.deltas)} deltas")


def _facts(facts: Mapping[str, object]) -> None:
    print(as_json({"schema": SCHEMA, **facts}))


def _sessions(events: Mapping[str, int], json: bool) -> int:
    if json:
        _facts({"sessions": [{"id": name, "events": count} for name, count in events.items()]})
    else:
        for name, count in events.items():
            print(f"{count:>8} events  {visible(name)}")
    return 0
