"""`hudkit serve`: the resident process that hosts ask; started by them on demand, so rarely by hand."""

from __future__ import annotations

import argparse

from hudkit.cli.place import user_settings
from hudkit.daemon import cli

EXAMPLE = "hudkit serve --idle 60"


def arguments(parser: argparse.ArgumentParser) -> None:
    cli.arguments(parser)


def run(args: argparse.Namespace) -> int:
    return cli.run(args, user_settings("serve"))
