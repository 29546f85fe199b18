"""`hudkit uninstall`: take the HUD out of an agent's host again, and with `--purge` what it recorded."""

from __future__ import annotations

import argparse

from hudkit.cli.commands.install import host_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
`--purge` deletes what SECURITY.md lists: log, search index, exports, transcripts and requests of our own agent,
worlds, backups, tokens; and the settings file where it is as `hudkit config init` wrote it. Settings that you changed
and custom sections that you wrote stay. Who uses hudkit from a program, or its own agent, names no host:
`hudkit uninstall --purge`.

`hudkit uninstall mcp` removes the server from every client that it was installed in; with --client from that one
only, even if it was added there by hand."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    host_arguments(parser)
    parser.add_argument(
        "--purge", action="store_true", help="also delete every file that hudkit made: log, sessions, worlds, backups"
    )


COMMAND = CliCommand(
    example="hudkit uninstall opencode",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.uninstall:run",
)
