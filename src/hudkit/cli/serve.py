"""`hudkit serve`: the resident process that hosts ask; started by them on demand, so rarely by hand."""

from __future__ import annotations

import argparse

from hudkit.cli.place import user_settings
from hudkit.daemon import cli

EXAMPLE = "hudkit serve --idle 60"


def arguments(one: argparse.ArgumentParser) -> None:
    cli.arguments(one)


def run(given: argparse.Namespace) -> int:
    return cli.run(given, user_settings("serve"))
