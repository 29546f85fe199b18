"""`hudkit rooms serve`: a world is played, with its page on a port of this machine."""

from __future__ import annotations

import argparse

from hudkit.cli.options import file_argument, play_arguments
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="HOST", help="a loopback address: 127.0.0.1 (default) or ::1"
    )
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="the port (default: one that is free)")
    file_argument(
        parser, "--token-file", "the file with the login token (default: beside the worlds, created on first use)"
    )
    parser.add_argument("--paused", action="store_true", help="start paused")
    play_arguments(parser)


COMMAND = CliCommand(example="hudkit rooms serve --port 8700", arguments=_arguments, run="hudkit.cli.rooms.serve:run")
