"""`hudkit restore`: a backup takes the place of its database, which stays beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.agent.databases import kind_of
from hudkit.cli.common import SCHEMA, as_json, with_daemon_stopped
from hudkit.clock import unix_ms
from hudkit.errors import ConfigError
from hudkit.log.stores.recovery import backup_paths, backup_source, restore
from hudkit.paths import data_directory, log_path


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    path: Path = args.db or log_path()
    copies = [args.backup] if args.backup is not None else backup_paths(path.absolute())
    if not copies:
        raise ConfigError(f"there is no backup beside {path}", hint="Name one; `hudkit backup` makes one")
    backup = copies[-1]
    if not backup.is_file():
        raise ConfigError(f"there is no file {backup}", hint="`hudkit backup --list` names the backups")
    name, kind = kind_of(backup)
    if args.db is None:
        path = _target(backup, name)
    before = with_daemon_stopped(lambda: restore(path, backup, unix_ms(), kind=kind))
    if args.json:
        print(as_json({"schema": SCHEMA, "log": str(path), "backup": str(backup), "before": before and str(before)}))
        return 0
    print(f"{path} is as in {backup}, verified")
    if before is not None:
        print(f"what was there: {before}")
    return 0


def _target(backup: Path, name: str) -> Path:
    """Return what a backup takes the place of; `name` is that of an agent's database. Raises `ConfigError`."""
    path = data_directory() / name if name else log_path()
    source = backup_source(backup)
    if source not in ("", path.name):
        raise ConfigError(
            f"{backup} is a copy of {source}, not of {path.name}", hint="Say with --db what it replaces"
        )
    return path
