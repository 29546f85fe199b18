"""`hudkit rooms worker`: one of the processes that play a world on a server together."""

from __future__ import annotations

import argparse

from hudkit.cli.commands.rooms.run import read_seconds
from hudkit.cli.options import WORLD_ON_SERVER, quota_arguments, server_url
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--db", required=True, type=server_url, metavar="URL", help=WORLD_ON_SERVER)
    how_long = "end after this time: 90s, 10m, 2h (default: never)"
    parser.add_argument("--for", dest="long", type=read_seconds, metavar="TIME", help=how_long)
    quota_arguments(parser)


COMMAND = CliCommand(
    "hudkit rooms worker --db postgresql://ana@db.example.org/worlds", _arguments, "hudkit.cli.rooms.worker:run"
)
