"""`hudkit serve`: the resident process that hosts ask; started by them on demand, so rarely by hand."""

from __future__ import annotations

import argparse

from hudkit.cli import CliCommand
from hudkit.cli.common import user_settings
from hudkit.daemon import lifecycle


def _run(args: argparse.Namespace) -> int:
    return lifecycle.run(args, user_settings("serve"))


COMMAND = CliCommand(
    example="hudkit serve --idle 60",
    arguments=lifecycle.arguments,
    run=_run,
    extra="daemon",
)
