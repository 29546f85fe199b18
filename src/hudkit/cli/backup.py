"""`hudkit backup`: verified copies of the log and of the agent's databases, also while they are written."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hudkit.agent.databases import existing_databases, kind_of
from hudkit.cli import CliCommand, complain
from hudkit.cli.common import SCHEMA, as_json, existing_log, log_arguments, user_settings
from hudkit.clock import unix_ms
from hudkit.errors import HudkitError
from hudkit.log.stores.recovery import DatabaseKind, back_up, backup_paths
from hudkit.paths import data_directory

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


def _run(args: argparse.Namespace) -> int:
    databases = _databases(args)
    if args.list:
        return _list(databases, args.json)
    keep = user_settings("backup").backup.keep
    copies: list[dict[str, object]] = []
    errors: list[HudkitError] = []
    for path, kind in databases:
        try:
            copy, removed = back_up(path, unix_ms(), target=args.to, keep=keep, kind=kind)
        except HudkitError as error:
            errors.append(error)
            continue
        facts = {"file": str(copy), "bytes": copy.stat().st_size, "removed": list(map(str, removed))}
        copies.append(facts)
        if not args.json:
            print(f"{facts['file']}: {facts['bytes']:,} bytes, verified")
            for file in removed:
                print(f"removed: {file}")
    if args.json and copies:
        print(as_json({"schema": SCHEMA, **copies[0], "others": copies[1:]}))
    for other in errors[1:]:
        complain("backup", other)
    if errors:
        raise errors[0]
    return 0


def _databases(args: argparse.Namespace) -> list[tuple[Path, DatabaseKind]]:
    """Return what is meant: the file that `--db` names, else the log and (not with `--to`) the agent's databases."""
    path = existing_log(args.db).absolute()
    if args.db is not None:
        return [(path, kind_of(path)[1])]
    databases = existing_databases(path, data_directory())
    return databases[:1] if args.to is not None else databases


def _list(databases: Sequence[tuple[Path, DatabaseKind]], as_facts: bool) -> int:
    copies = [(file, file.stat().st_size) for path, _ in databases for file in backup_paths(path)]
    if as_facts:
        rows = [{"file": str(file), "bytes": size} for file, size in copies]
        print(as_json({"schema": SCHEMA, "backups": rows}))
    else:
        for file, size in copies:
            print(f"{size:>14,} bytes  {file}")
    return 0


COMMAND = CliCommand(example="hudkit backup --list", details=_DETAILS, arguments=_arguments, run=_run)
