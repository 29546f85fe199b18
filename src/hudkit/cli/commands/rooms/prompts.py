"""`hudkit rooms prompts`: what the agents of a world are told, shown, written to files, and changed from files."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    does = parser.add_mutually_exclusive_group()
    does.add_argument(
        "--write", type=Path, metavar="DIR", help="write them to files in this folder; existing files stay"
    )
    does.add_argument("--read", type=Path, metavar="DIR", help="from now on, use the prompts of this folder")
    world_argument(parser)


COMMAND = CliCommand("hudkit rooms prompts --write my-prompts", _arguments, "hudkit.cli.rooms.prompts:run")
