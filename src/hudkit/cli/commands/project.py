"""`hudkit project`: the defaults that all sessions of a project have, and trust in those of its file."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
The notes, key files and conventions of a project (its git root) are in the HUD of each of its sessions, from the next
call on. They come from the operations `project.add` and `project.set` (what an agent sets is marked), from this
command, and from the table `[project]` of the project's `.hudkit.toml` (lists `notes`, `files`, `conventions`),
which is used only once you trust its text: `project trust` does so, until the text changes."""

WORD_COUNTS = {"show": 0, "trust": 0, "add": 2, "remove": 2}
"""What can be done, and how many words each takes."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = "show the defaults, add or remove one, or trust those in the project's file (default: show)"
    parser.add_argument("what", nargs="?", default="show", choices=tuple(WORD_COUNTS), help=what)
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="for add and remove: notes, files or conventions, then the text"
    )
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    log_arguments(parser)


COMMAND = CliCommand(
    example='hudkit project add conventions "Tests sit beside the code"',
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.project:run",
)
