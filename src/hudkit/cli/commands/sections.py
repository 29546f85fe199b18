"""`hudkit sections`: custom sections of files and packages: which run, trust in a project's, a trial of one."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
`sections` lists the files: your own, and those of the current project; and what installed packages offer. A
project's file runs only once you trust its bytes: `sections trust FILE` does so, until they change. A package's
section runs only once `[custom] plugins` in your settings names it. `sections try FILE` runs a file once in the
sandbox, on the state of a session (the newest, if there is a log), and prints what a frame would show of it at each
density; nothing is recorded. Exit code 1: a file is wrong, or the trial failed. See
[custom-sections.md](custom-sections.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = "list the files, trust one, or try one (default: list)"
    parser.add_argument("what", nargs="?", default="list", choices=("list", "trust", "try"), help=what)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the file to trust or to try")
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    parser.add_argument("--session", metavar="ID", help="the session on whose state the file is tried")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit sections try .hudkit/sections/glance.py",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.sections:run",
    extra="custom",
)
