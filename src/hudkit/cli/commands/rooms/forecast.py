"""`hudkit rooms forecast`: what a world of many agents takes, by a sample that is played here."""

from __future__ import annotations

import argparse

from hudkit.cli.commands.rooms.run import read_seconds
from hudkit.cli.options import at_least_one, file_argument
from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agents",
        type=at_least_one,
        action="append",
        metavar="N",
        help="how many agents; repeatable (default: 1,000, 10,000, 100,000 and 1,000,000)",
    )
    parser.add_argument(
        "--for",
        dest="long",
        type=read_seconds,
        default=3600.0,
        metavar="TIME",
        help="of the world's time (default: 1h)",
    )
    parser.add_argument("--model", default="", metavar="NAME", help="who answers, as provider:name: for the dollars")
    file_argument(parser, "--file", "the founding whose agents are multiplied (default: the island)")
    parser.add_argument(
        "--sample", type=at_least_one, default=200, metavar="N", help="agents of the sample (default: 200)"
    )
    parser.add_argument(
        "--sample-minutes", type=at_least_one, default=3, metavar="N", help="minutes of the sample (default: 3)"
    )


COMMAND = CliCommand(
    "hudkit rooms forecast --agents 1000000 --for 1h --model openai:gpt-5-mini",
    _arguments,
    "hudkit.cli.rooms.forecast:run",
)
