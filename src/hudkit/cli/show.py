"""`hudkit show`: the frame of a session, now or at any event, as the agent sees it."""

from __future__ import annotations

import argparse
import json

import msgspec

from hudkit.cli.place import SCHEMA, log_arguments, open_read_only, pick

EXAMPLE = "hudkit show ses_1 --at 42"


def arguments(one: argparse.ArgumentParser) -> None:
    one.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    one.add_argument("--at", type=int, metavar="SEQ", help="the frame at this event (default: the last)")
    one.add_argument("--state", action="store_true", help="print the whole state instead of the frame")
    one.add_argument("--sessions", action="store_true", help="list the sessions of the log")
    log_arguments(one)


def run(given: argparse.Namespace) -> int:
    with open_read_only(given.db) as hud:
        if given.sessions:
            return _sessions({name: hud.log.last_seq(name) for name in hud.sessions()}, given.json)
        session = hud.session(pick(hud.log, given.session))
        seq = session.state.seq if given.at is None else given.at
        if given.state:
            return _facts(state=msgspec.to_builtins(session.state_at(seq)))
        frame = session.frame_at(seq)
        if given.json:
            return _facts(session=session.id, seq=seq, frame=msgspec.to_builtins(frame))
        print(frame.text, end="")
        for one in frame.omitted:
            print(f"(left out: {one.path}: {one.reason})")
        cost = f"{frame.tokens} of {frame.budget} tokens, {frame.density.value}"
        print(f"\n-- {session.id}, event {seq}: {cost}, epoch {frame.epoch}, {len(frame.deltas)} deltas")
        return 0


def _facts(**facts: object) -> int:
    print(json.dumps({"schema": SCHEMA, **facts}, indent=2, ensure_ascii=False))
    return 0


def _sessions(events: dict[str, int], as_json: bool) -> int:
    if as_json:
        rows = [{"id": name, "events": count} for name, count in events.items()]
        print(json.dumps({"schema": SCHEMA, "sessions": rows}, indent=2))
    else:
        for name, count in events.items():
            print(f"{count:>8} events  {name}")
    return 0
