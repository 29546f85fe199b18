"""`hudkit show`: what the HUD of a session knows, now or at any event, and the frames that were sent."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Everything that is known is shown as one document. With `--sent`: the frame of the last call, byte for byte as it was
sent, or what a call would have been sent at that event; what the agent learned from its own tools is in the
conversation, not in the frame. Damaged events are left out: the error stream names them, and the exit code is 1. A
loss of events that was found when the log was opened is named there, too.

With `--cache`: how much of each request the provider's cache could have served (predicted from the call before, by
that cache's rules) and how much the provider reported, by layer; then each break of the prefix, newest last: what
changed first, where, and what it cost. Together with `--sessions`, one line per session. The tokens of breaks and
layers are estimates.

With `--window`: what fills the window, part by part, how fast it fills, and how far off the estimates were; with bars
on a terminal, without them if the output is piped.

On a terminal, `--sessions` lists title, time, host and project, and the end of the id, which is enough to name the
session."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", help="a part of a session's id, or words of its title (default: the newest)"
    )
    parser.add_argument("--at", type=int, metavar="SEQ", help="as of this event (default: the last)")
    parser.add_argument("--sent", action="store_true", help="the frame of the last call, as it was sent")
    parser.add_argument("--state", action="store_true", help="print the whole state instead of the frame")
    parser.add_argument("--window", action="store_true", help="what fills the window, and how fast")
    parser.add_argument("--sessions", action="store_true", help="list the sessions of the log")
    parser.add_argument(
        "--cache", action="store_true", help="what the provider's prefix cache served, and what broke the prefix"
    )
    log_arguments(parser, server=True)


COMMAND = CliCommand(
    example="hudkit show ses_1 --at 42",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.show:run",
)
