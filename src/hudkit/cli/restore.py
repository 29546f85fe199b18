"""`hudkit restore`: a backup takes the place of the log, which stays beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli import CliCommand
from hudkit.cli.common import SCHEMA, as_json, with_daemon_stopped
from hudkit.clock import unix_ms
from hudkit.errors import ConfigError
from hudkit.paths import log_path

_DETAILS = """\
Without `BACKUP`, the newest one beside the log is taken (`hudkit backup --list`). It is copied and verified before
anything is changed. The log that was there stays, as `hudkit.db.before-restore-TIME`, and can be restored in the same
way. A daemon that has the log open is asked to end; it starts again on demand. Where another program has it open,
nothing is changed and the exit code is 2. See [recovery.md](recovery.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("backup", nargs="?", type=Path, metavar="BACKUP", help="the backup's file")
    parser.add_argument("--db", type=Path, metavar="FILE", help="the log (default: $HUDKIT_DB, else the user's own)")
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


def _run(args: argparse.Namespace) -> int:
    from hudkit.log.stores.recovery import backup_paths, restore

    path: Path = args.db or log_path()
    copies = [args.backup] if args.backup is not None else backup_paths(path.absolute())
    if not copies:
        raise ConfigError(f"there is no backup beside {path}", hint="Name one; `hudkit backup` makes one")
    backup = copies[-1]
    if not backup.is_file():
        raise ConfigError(f"there is no file {backup}", hint="`hudkit backup --list` names the backups")
    before = with_daemon_stopped(lambda: restore(path, backup, unix_ms()))
    if args.json:
        print(as_json({"schema": SCHEMA, "log": str(path), "backup": str(backup), "before": before and str(before)}))
        return 0
    print(f"{path} is as in {backup}; every event verifies")
    if before is not None:
        print(f"the log as it was: {before}")
    return 0


COMMAND = CliCommand(example="hudkit restore hudkit.db.backup-TIME", details=_DETAILS, arguments=_arguments, run=_run)
