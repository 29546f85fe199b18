"""`hudkit watch`: the HUD of a session as it changes, in a terminal beside the agent."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
On a terminal it follows the session that you name, else the newest one and each that begins after it: its window as a
bar with a forecast, its last compaction, its HUD. Lines that have changed are marked for some seconds. `j` and `k`
scroll, `q` leaves. It only reads, and the log only when it has changed. With `--once`, and where the output is no
terminal, it is printed once, as plain text there."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "session", nargs="?", help="a part of a session's id, or words of its title (default: the newest)"
    )
    parser.add_argument("--once", action="store_true", help="print it once and end")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit watch --once",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.watch:run",
)
