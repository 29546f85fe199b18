"""`hudkit help`: the help of a command, or of an operation of one."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="COMMAND", help="a command, and an operation of it (default: all)"
    )


def _run(args: argparse.Namespace) -> int:
    from hudkit.cli import main

    return main([*args.words, "--help"])


COMMAND = CliCommand("hudkit help rooms run", _arguments, _run)
