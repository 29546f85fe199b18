"""`hudkit serve`: the resident process that hosts ask; started by them on demand, so rarely by hand."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand
from hudkit.daemon.options import daemon_arguments


def _run(args: argparse.Namespace) -> int:
    from hudkit.cli.common import user_settings
    from hudkit.daemon import lifecycle

    return lifecycle.run(args, user_settings("serve"))


COMMAND = CliCommand(
    example="hudkit serve --idle 60",
    arguments=daemon_arguments,
    run=_run,
)
