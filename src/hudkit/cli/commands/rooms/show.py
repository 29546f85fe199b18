"""`hudkit rooms show`: a world in short, or one agent's HUD."""

from __future__ import annotations

import argparse

from hudkit.cli.options import whole_number, world_argument
from hudkit.cli.parsing import CliCommand

FORMATS = ("json", "compact", "toon", "markdown")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="show the HUD of this agent (number or name)")
    parser.add_argument("--format", choices=FORMATS, help="how its HUD is written (default: as the agent gets it)")
    parser.add_argument("--at", type=whole_number, metavar="SEQ", help="as it was after this event (default: now)")
    world_argument(parser)


COMMAND = CliCommand("hudkit rooms show Maren --format markdown", _arguments, "hudkit.cli.rooms.show:run")
