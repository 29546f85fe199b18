"""`hudkit show`: what the HUD of a session knows, now or at any event, and the frames that were sent.

What needs no frame is in modules of its own: `show_sessions`, `show_cache`, `show_window`.
"""

from __future__ import annotations

import argparse
import shlex
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, open_log_read_only, open_read_only, pick, report_damage
from hudkit.cli.styles import HUD_STYLES, on_terminal, print_lines, print_markdown
from hudkit.compose import shorten, visible
from hudkit.hud.session_keys import host_id_of_key
from hudkit.hud.session_lookup import recorded_title, short_ids
from hudkit.log.event_log import EventLog

if TYPE_CHECKING:
    from hudkit.api import HudSession


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.cache or args.sessions:
        with closing(open_log_read_only(args.db)) as log:
            return _all_of(log, args)
    with open_read_only(args.db, "show") as hud:
        name = pick(hud.log, args.session)
        session = hud.session(name)
        _show(session, session.state.seq if args.at is None else args.at, args)
        gaps = session.state.gaps
        losses = list(filter(None, (finding.loss_of(name) for finding in hud.log.recorded_findings())))
        for loss in dict.fromkeys((gaps.loss, *losses) if gaps.loss else losses):
            complain("show", f"recorded events were lost: {loss}")
        behind = [gap.of for gap in session.damage_behind_saved_state(_CHECKED_EVENTS) if gap.of not in gaps.damaged]
        return report_damage("show", sorted((*gaps.damaged, *behind)), gaps.count + len(behind))


_TITLE_CHARACTERS = 60

_CHECKED_EVENTS = 20_000
"""Events behind a saved state that are read for damage; `hudkit verify` reads them all."""


def _all_of(log: EventLog, args: argparse.Namespace) -> int:
    """Print what is read from the log alone: the sessions, or what the cache served."""
    if not args.cache:
        from hudkit.cli.show_sessions import print_sessions

        print_sessions(log, json=args.json)
        return 0
    from hudkit.cli.show_cache import print_cache

    names = log.sessions() if args.sessions else (pick(log, args.session),)
    return print_cache(log, names, upto=args.at, short=args.sessions, json=args.json)


def _show(session: HudSession, seq: int, args: argparse.Namespace) -> None:
    if args.window:
        from hudkit.cli.show_window import print_window

        print_window(session, seq, _name(session), json=args.json)
        return
    if args.state:
        print(as_json({"schema": SCHEMA, "state": msgspec.to_builtins(session.state_at(seq))}))
        return
    if args.json:
        frame, text = session.frame_at(seq), session.whole_frame(seq).text
        facts = {"session": session.id, "seq": seq, "text": text, "frame": msgspec.to_builtins(frame)}
        print(as_json({"schema": SCHEMA, **facts}))
        return
    frame = session.frame_at(seq) if args.sent else session.whole_frame(seq)
    if args.sent and on_terminal():  # as it was sent: only coloured
        print_lines(frame.text.rstrip("\n").split("\n"), HUD_STYLES)
    elif on_terminal():
        print_markdown(frame.text, HUD_STYLES)
    else:
        print(frame.text, end="")
    print_lines((f"(left out: {omission.path}: {omission.reason})" for omission in frame.omitted), HUD_STYLES)
    line = f"{frame.tokens} of {frame.budget} tokens, {frame.density.value}"
    if args.sent:
        line += f", epoch {frame.epoch}, {len(frame.deltas)} deltas"
    print_lines((f"\n-- {_name(session)}, event {seq}: {line}",), HUD_STYLES)
    if args.at is None:
        _tell_heard(session)


def _tell_heard(session: HudSession) -> None:
    """Say to the person how much was read from plain words that nobody has reviewed."""
    from hudkit.sections.document_builder import count_heard  # a list of sessions needs none of it

    if heard := count_heard(session.state):
        command = f"hudkit review {shlex.quote(visible(host_id_of_key(session.id)))}"
        print_lines((f"-- {heard} heard, not reviewed: {command}",), HUD_STYLES)


def _name(session: HudSession) -> str:
    """How a session is called: for people by its title and the end of its id, elsewhere by its key."""
    if not on_terminal():
        return visible(session.id)
    title = shorten(visible(recorded_title(session.log, session.id)), _TITLE_CHARACTERS)
    return f"{title} ({short_ids([session.id])[session.id]})".lstrip()
