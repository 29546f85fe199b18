"""`hudkit restore`: a backup takes the place of its database, which stays beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import db_argument
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Without `BACKUP`, the newest one beside the log is taken, or beside the database that `--db` names (`hudkit backup
--list`). It is copied and verified before anything is changed. A backup of `sessions.db` or `requests.db` takes the
place of that one. What was there stays, as `hudkit.db.before-restore-TIME`, and can be restored in the same way. A
daemon that has the log open is asked to end; it starts again on demand. Where another program has the database open,
nothing is changed and the exit code is 2. See [recovery.md](recovery.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("backup", nargs="?", type=Path, metavar="BACKUP", help="the backup's file")
    db_argument(parser, what="what is replaced", default="the user's own log")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


COMMAND = CliCommand(
    example="hudkit restore hudkit.db.backup-TIME",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.restore:run",
)
