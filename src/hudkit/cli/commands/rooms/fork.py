"""`hudkit rooms fork`: a new world with the past of another one."""

from __future__ import annotations

import argparse

from hudkit.cli.options import whole_number, world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NEW", help="the new world's name or file")
    parser.add_argument(
        "--at", type=whole_number, metavar="SEQ", help="the last event of the common past (default: the last)"
    )
    world_argument(parser)


COMMAND = CliCommand("hudkit rooms fork --at 120 what-if", _arguments, "hudkit.cli.rooms.fork:run")
