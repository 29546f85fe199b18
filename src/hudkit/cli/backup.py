"""`hudkit backup`: a verified copy of the log, also while the daemon writes to it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli import CliCommand
from hudkit.cli.common import SCHEMA, as_json, existing_log, log_arguments, user_settings
from hudkit.clock import unix_ms

_DETAILS = """\
The copy is of one moment, is read again and verified before it has its name, and only you can read it. It lies beside
the log, as `hudkit.db.backup-TIME`; the newest 7 stay (`backup.keep` in the settings). With `backup.every_hours`, the
daemon does the same while it runs. A log that does not verify is not copied, and earlier backups stay. `--to` writes
to another file, which nothing ever removes; `--db` also takes the file of a [world](rooms.md). The conversations of
hudkit's own agent and the search index are not in it. See [recovery.md](recovery.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", type=Path, metavar="FILE", help="write to this file, which must not exist")
    parser.add_argument("--list", action="store_true", help="list the backups that lie beside the log, oldest first")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    from hudkit.log.stores.recovery import back_up, backup_paths

    path = existing_log(args.db)
    if args.list:
        copies = [{"file": str(file), "bytes": file.stat().st_size} for file in backup_paths(path)]
        if args.json:
            print(as_json({"schema": SCHEMA, "backups": copies}))
        else:
            for entry in copies:
                print(f"{entry['bytes']:>14,} bytes  {entry['file']}")
        return 0
    copy, removed = back_up(path, unix_ms(), target=args.to, keep=user_settings("backup").backup.keep)
    size = copy.stat().st_size
    if args.json:
        print(as_json({"schema": SCHEMA, "file": str(copy), "bytes": size, "removed": list(map(str, removed))}))
        return 0
    print(f"{copy}: {size:,} bytes, every event verifies")
    for file in removed:
        print(f"removed: {file}")
    return 0


COMMAND = CliCommand(example="hudkit backup --list", details=_DETAILS, arguments=_arguments, run=_run)
