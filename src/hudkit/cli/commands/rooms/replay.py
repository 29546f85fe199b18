"""`hudkit rooms replay`: does the log give the same HUDs again?"""

from __future__ import annotations

import argparse

from hudkit.cli.options import world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    world_argument(parser)


COMMAND = CliCommand("hudkit rooms replay --json", _arguments, "hudkit.cli.rooms.replay:run")
