"""`hudkit rooms export`: what happened, to read or to compute with."""

from __future__ import annotations

import argparse

from hudkit.cli.options import file_argument, whole_number, world_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=("text", "jsonl", "recording"),
        default="text",
        help="a transcript, one JSON object per event, or a file that `rooms new --recording` shows again",
    )
    parser.add_argument("--about", default="", metavar="TEXT", help="who played, for people who see the recording")
    parser.add_argument("--room", metavar="ROOM", help="only this room (its agent's number or name)")
    parser.add_argument("--until", type=whole_number, metavar="SEQ", help="up to this event (default: the last)")
    file_argument(parser, "--output", "where to write it (default: the standard output)")
    world_argument(parser)


COMMAND = CliCommand(
    "hudkit rooms export --format jsonl --output island.jsonl", _arguments, "hudkit.cli.rooms.export:run"
)
