"""`hudkit rooms experiment`: a world played with many seeds in several variants, and what came out of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import at_least_one
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the TOML file of the experiment")
    parser.add_argument(
        "--output", type=Path, metavar="DIR", help="the folder of results (default: NAME-results beside the file)"
    )
    parser.add_argument(
        "--processes", type=at_least_one, metavar="N", help="runs at once (default: one for each processor)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be run, and what it may cost")
    parser.add_argument(
        "--cap", type=_dollars, metavar="DOLLARS", help="end when so much was spent (default: the file's)"
    )
    parser.add_argument("--restart", action="store_true", help="remove what was run before, and begin anew")


COMMAND = CliCommand("hudkit rooms experiment vote.toml --dry-run", _arguments, "hudkit.cli.rooms.experiment:run")


def _dollars(text: str) -> float:
    try:
        amount = float(text.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars; try 2.50")
    return amount
