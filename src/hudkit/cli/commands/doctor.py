"""`hudkit doctor`: a line for each thing that has to be in place, and what to do where it is not."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Exits with 0 if everything passes, 1 if there are warnings, 2 if something fails. It only reads, and sends nothing;
each check has a time limit. `--fix` does what is safe: it makes hudkit's own files and directories private, removes a
socket that nobody listens on, and replaces an older daemon; it says what it did and checks again. `--report` contains
no path of your home, no content of a session and no known form of a secret; read it before you send it."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, then check again")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print facts as JSON")
    how.add_argument("--report", action="store_true", help="print a text for a bug report, without private data")


COMMAND = CliCommand(
    example="hudkit doctor --fix",
    details=_DETAILS,
    exit_codes="exit codes: 0 everything passes, 1 there are warnings, 2 something fails",
    arguments=_arguments,
    run="hudkit.cli.doctor:run",
)
