"""`hudkit rooms run`: a world is played, its conversation is printed as it goes, and then what it came to."""

from __future__ import annotations

import argparse
import re

from hudkit.cli.options import file_argument, play_arguments
from hudkit.cli.parsing import CliCommand

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?")

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def _arguments(parser: argparse.ArgumentParser) -> None:
    long = parser.add_mutually_exclusive_group()
    long.add_argument("--beats", type=_beats, metavar="N", help="until this many beats have begun and ended")
    long.add_argument(
        "--for",
        dest="long",
        type=read_seconds,
        metavar="TIME",
        help="for this much of the world's time: 90s, 10m (default), 2h",
    )
    parser.add_argument("--fast", action="store_true", help="do not wait: the world's time jumps to the next event")
    parser.add_argument("--quiet", action="store_true", help="print only the summary")
    file_argument(parser, "--script", "lines that all agents say instead of what their models would (a TOML file)")
    play_arguments(parser)


COMMAND = CliCommand("hudkit rooms run --beats 200 --fast", _arguments, "hudkit.cli.rooms.run:run")


def _beats(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of beats; give a whole number from 1")
    return int(text)


def read_seconds(text: str) -> float:
    """Read the length of time that an option takes and return its seconds. Raises `ArgumentTypeError`."""
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _UNITS[match[2] or "s"] if match else 0.0
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a length of time; try 90s, 10m or 2h")
    return seconds
