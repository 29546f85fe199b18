"""`hudkit config`: the settings in force and where each comes from; checks their files, prints their schema."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
`config` prints the settings in force as TOML, each with its origin; `config check` says what is wrong with a file, or
with the user's and the project's files if none is named (a file named `.hudkit.toml` is checked as a project's);
`config init` writes your settings file with every key as a comment; `config schema` prints the JSON Schema of a file,
which the file names in its first line for editors. See [configuration.md](configuration.md)."""

_WHAT = "show the settings, check their files, write a new file, or print their schema (default: show)"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="show", choices=("show", "check", "init", "schema"), help=_WHAT)
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the file to check (default: those in force)"
    )
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project's directory (default: this one)")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


COMMAND = CliCommand(
    example="hudkit config check ~/.config/hudkit/config.toml",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.config:run",
)
