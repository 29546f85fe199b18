"""`hudkit backup`: verified copies of the log and of the agent's databases, also while they are written."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Besides the log, the conversations of hudkit's own agent (`sessions.db`) and its requests (`requests.db`) are copied
where there are any. Each copy is of one moment, is read again and verified before it has its name, and only you can
read it. It lies beside its database, as `hudkit.db.backup-TIME`; the newest 7 stay (`backup.keep` in the settings).
With `backup.every_hours`, the daemon does the same while it runs. A database that does not verify is not copied, and
its earlier backups stay. `--db` copies that one file: a log, the file of a [world](rooms.md), `sessions.db` or
`requests.db`. `--to` writes to a file of its own, which nothing ever removes: the log, or what `--db` names. The
search index is in none. See [recovery.md](recovery.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, metavar="FILE", help="write to this file, which must not exist")
    parser.add_argument("--list", action="store_true", help="list the backups that lie beside the log, oldest first")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit backup --list", details=_DETAILS, arguments=_arguments, run="hudkit.cli.backup:run"
)
