"""`hudkit show`: what the HUD of a session knows, now or at any event, and the frames that were sent."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import msgspec

from hudkit.api import Hud, HudSession
from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, log_arguments, open_read_only, pick, sound
from hudkit.compose import visible
from hudkit.errors import StoreDamaged
from hudkit.log.event_log import EventLog

_DETAILS = """\
Everything that is known is shown as one document. With `--sent`: the frame of the last call, byte for byte as it was
sent, or what a call would have been sent at that event; what the agent learned from its own tools is in the
conversation, not in the frame. If the log is damaged, the last sound event is shown, the error stream says what is
wrong, and the exit code is 1.

With `--cache`: how much of each request the provider's cache could have served (predicted from the call before, by
that cache's rules) and how much the provider reported, by layer; then each break of the prefix, newest last: what
changed first, where, and what it cost. Together with `--sessions`, one line per session. The tokens of breaks and
layers are estimates.

With `--window`: what fills the window, part by part, how fast it fills, and how far off the estimates were; with bars
on a terminal, without them if the output is piped or `NO_COLOR` is set."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", help="a session's id, or a part of it (default: the newest)")
    parser.add_argument("--at", type=int, metavar="SEQ", help="as of this event (default: the last)")
    parser.add_argument("--sent", action="store_true", help="the frame of the last call, as it was sent")
    parser.add_argument("--state", action="store_true", help="print the whole state instead of the frame")
    parser.add_argument("--window", action="store_true", help="what fills the window, and how fast")
    parser.add_argument("--sessions", action="store_true", help="list the sessions of the log")
    parser.add_argument(
        "--cache", action="store_true", help="what the provider's prefix cache served, and what broke the prefix"
    )
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    with open_read_only(args.db, "show") as hud:
        if args.cache:
            return _cache(hud, args)
        if args.sessions:
            return _sessions({name: hud.log.last_seq(name) for name in hud.sessions()}, args.json)
        name = pick(hud.log, args.session)
        try:
            session = hud.session(name)
            _show(session, session.state.seq if args.at is None else args.at, args)
        except StoreDamaged as error:
            return _rest(hud, name, error, args)
        return 0


COMMAND = CliCommand(
    example="hudkit show ses_1 --at 42",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _rest(hud: Hud, name: str, error: StoreDamaged, args: argparse.Namespace) -> int:
    """What can be shown of a damaged session: its last sound event that comes no later than what was asked for."""
    last = _last_sound(hud.log, name)
    seq = last if args.at is None else min(args.at, last)
    complain("show", f"the log is damaged: {error}")
    if seq > 0:
        _show(hud.session(name), seq, args)
        complain("show", f"shown as of event {seq}, the last sound one")
    return 1


def _last_sound(log: EventLog, name: str) -> int:
    last = 0
    for event in sound(log, name):
        if not isinstance(event, StoreDamaged):
            last = event.seq
    return last


def _show(session: HudSession, seq: int, args: argparse.Namespace) -> None:
    if args.window:
        _window(session, seq, args.json)
        return
    if args.state:
        _facts({"state": msgspec.to_builtins(session.state_at(seq))})
        return
    if args.json:
        frame, text = session.frame_at(seq), session.whole_frame(seq).text
        _facts({"session": session.id, "seq": seq, "text": text, "frame": msgspec.to_builtins(frame)})
        return
    frame = session.frame_at(seq) if args.sent else session.whole_frame(seq)
    print(frame.text, end="")
    for omission in frame.omitted:
        print(f"(left out: {omission.path}: {omission.reason})")
    line = f"{frame.tokens} of {frame.budget} tokens, {frame.density.value}"
    if args.sent:
        line += f", epoch {frame.epoch}, {len(frame.deltas)} deltas"
    print(f"\n-- {visible(session.id)}, event {seq}: {line}")


def _window(session: HudSession, seq: int, json: bool) -> None:
    from hudkit.cli.window import facts_of, lines_of

    state = session.state_at(seq)
    if json:
        _facts(facts_of(session, state))
    else:
        for line in lines_of(session, state):
            print(line)


def _cache(hud: Hud, args: argparse.Namespace) -> int:
    """The account of one session, or of all in short."""
    from hudkit.cli.cache import account_of, facts, lines, session_line, summary

    names = hud.sessions() if args.sessions else (pick(hud.log, args.session),)
    accounts, code = [], 0
    for name in names:
        account, wrong = account_of(hud.log, name, args.at)
        accounts.append((name, account))
        if wrong is not None:
            complain("show", f"the log is damaged: {wrong}")
            code = 1
    if args.json and args.sessions:
        _facts({"sessions": [summary(name, account) for name, account in accounts]})
    elif args.json:
        _facts(facts(*accounts[0]))
    else:
        for name, account in accounts:
            for line in (session_line(name, account),) if args.sessions else lines(name, account):
                print(line)
    return code


def _facts(facts: Mapping[str, object]) -> None:
    print(as_json({"schema": SCHEMA, **facts}))


def _sessions(events: Mapping[str, int], json: bool) -> int:
    if json:
        _facts({"sessions": [{"id": name, "events": count} for name, count in events.items()]})
    else:
        for name, count in events.items():
            print(f"{count:>8} events  {visible(name)}")
    return 0
