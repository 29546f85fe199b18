"""`hudkit demo`: the recorded day that ships with hudkit, replayed and explained."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the figures behind the story as JSON")


COMMAND = CliCommand(
    example="hudkit demo",
    arguments=_arguments,
    run="hudkit.cli.demo:run",
)
