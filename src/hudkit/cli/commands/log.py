"""`hudkit log`: the events of a session, one line each."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
With `--json`, each line is one event. In the place of a damaged event, `event.gap` says what is wrong with it; the
error stream names them all, and the exit code is 1."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", help="a part of a session's id, or words of its title (default: the newest)"
    )
    parser.add_argument("--after", type=int, default=0, metavar="SEQ", help="only events after this one")
    parser.add_argument("--type", default="", metavar="NAME", help="only events whose type begins with this")
    log_arguments(parser, server=True)


COMMAND = CliCommand(
    example="hudkit log ses_1 --after 100 --type decision",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.log:run",
)
