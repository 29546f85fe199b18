"""`hudkit backup`: verified copies of the log and of the agent's databases, also while they are written."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from hudkit.agent.databases import existing_databases, kind_of
from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, existing_log, user_settings
from hudkit.clock import unix_ms
from hudkit.errors import HudkitError
from hudkit.log.stores.recovery import DatabaseKind, back_up, backup_paths
from hudkit.paths import data_directory


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
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
