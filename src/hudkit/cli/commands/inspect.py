"""`hudkit inspect`: pages on coding sessions, on a port of this machine, opened by a link that works once."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import db_argument
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Shows the sessions of all hosts that are in the log: each call's frame by layer, what was left out and why, the same
state at another budget, what the provider's cache gave and what broke it, what compactions dropped and kept, and what
changed between two calls. The pages follow an agent at work. They only read; where something can be changed, they
show the command.

With `--demo`, the recorded day that ships with hudkit is shown; with `--replay FILE`, the history in OpenCode's
database, or in a folder or file of Claude Code or Codex, as it would have been with the HUD. Both are written to a
log of their own that is gone afterwards.

The link can be opened from this machine only, and once: then the browser has a cookie. The search in messages uses
the index of `hudkit memory`; `hudkit memory index` brings it up to date."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--open", action="store_true", help="open the link in the browser")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--demo", action="store_true", help="the recorded day that ships with hudkit")
    what.add_argument("--replay", type=Path, metavar="FILE", help="a recorded history, as of `hudkit replay`")
    parser.add_argument(
        "--window", type=int, metavar="TOKENS", help="the window of the recorded models, where the name does not tell"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="the port (default: one that is free)")
    parser.add_argument("--host", default="127.0.0.1", metavar="H", help="the loopback address (default: 127.0.0.1)")
    db_argument(parser)


COMMAND = CliCommand(
    example="hudkit inspect --demo",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.inspect:run",
)
