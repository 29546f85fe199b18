"""`hudkit replay`: a recorded history of a host through the HUD, turn by turn."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="OpenCode's database, opencode.db; it is read, never written"
    )
    parser.add_argument("--session", metavar="ID", help="only the session with this id, or whose id contains it")
    parser.add_argument(
        "--window", type=_count, metavar="N", help="the model's window in tokens, if hudkit does not know the model"
    )
    parser.add_argument(
        "--budget", type=_count, metavar="N", help="token budget of a frame (default: 2 %% of the window)"
    )
    parser.add_argument(
        "--price-as", default="", metavar="MODEL", help="use the prices and the cache rules of this model"
    )
    parser.add_argument("--frames", action="store_true", help="also print the frame of every call")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


COMMAND = CliCommand(
    example="hudkit replay ~/.local/share/opencode/opencode.db --window 200000",
    arguments=_arguments,
    run="hudkit.cli.replay:run",
)


def _count(text: str) -> int:
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens; give a whole number from 1")
    return number
