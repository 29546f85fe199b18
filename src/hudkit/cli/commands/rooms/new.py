"""`hudkit rooms new` and `hudkit rooms fork`: where worlds come from."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import WORLD_ON_SERVER, at_least_one, file_argument, server_url
from hudkit.cli.parsing import CliCommand
from hudkit.rooms import FIRST_RECORDING, FIRST_WORLD, IMPROVISER_LABEL, MAX_SEED


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"the world's name or file (default: {FIRST_WORLD})")
    parser.add_argument("--db", type=server_url, metavar="URL", help=WORLD_ON_SERVER)
    parser.add_argument(
        "--partitions",
        type=at_least_one,
        default=0,
        metavar="N",
        help="with --db: so many parts that workers play side by side (default: the world is whole)",
    )
    file_argument(parser, "--file", "a TOML file that says who is there (default: the world that comes with hudkit)")
    file_argument(
        parser,
        "--recording",
        f"a recorded run to be shown instead (of `rooms export --format recording`; {FIRST_RECORDING}: it ships)",
    )
    parser.add_argument(
        "--prompts", type=Path, metavar="DIR", help="a folder of prompts to use instead of hudkit's own"
    )
    parser.add_argument(
        "--write-prompts", type=Path, metavar="DIR", help="only copy hudkit's prompts to this folder, for editing"
    )
    parser.add_argument(
        "--model",
        metavar="NAME",
        help=f"the model of the agents, as provider:name (default: what the founding says, else {IMPROVISER_LABEL})",
    )
    parser.add_argument(
        "--seed", type=_seed, metavar="N", help="the seed of all random choices (default: the file's)"
    )


COMMAND = CliCommand(
    "hudkit rooms new harbour --file harbour.toml --model anthropic:claude-haiku-4-5",
    _arguments,
    "hudkit.cli.rooms.new:run",
)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_SEED:
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; give a whole number from 0 to {MAX_SEED}")
    return int(text)
