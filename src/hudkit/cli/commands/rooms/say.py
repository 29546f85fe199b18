"""`hudkit rooms say`: a person's word in a room, also while another process plays the world."""

from __future__ import annotations

import argparse

from hudkit.cli.options import whole_number, world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("room", metavar="ROOM", help="whose room: the agent's number or name")
    parser.add_argument("text", metavar="TEXT", help="what to say")
    parser.add_argument(
        "--reply-to", type=whole_number, metavar="ID", help="the number of the message that this answers"
    )
    world_argument(parser)


COMMAND = CliCommand(
    "hudkit rooms say Maren 'Who remembers the old harbour?'", _arguments, "hudkit.cli.rooms.say:run"
)
