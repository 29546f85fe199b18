"""`hudkit archive`: makes the log smaller below each session's last compaction, and nothing is lost."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
The payloads of events before a session's last compaction are compressed within the same file; the events stay in the
log with their digests. State and frames at any event, `log`, `verify` and search work as before, only more slowly for
archived events. `--restore` decompresses everything. A running daemon need not be stopped."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--session", metavar="ID", help="only this session (a part of its id, or words of its title; default: all)"
    )
    parser.add_argument("--restore", action="store_true", help="decompress what was archived")
    parser.add_argument("--dry-run", action="store_true", help="say what would be archived, and change nothing")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit archive --dry-run",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.archive:run",
)
