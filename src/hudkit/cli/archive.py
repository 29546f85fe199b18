"""`hudkit archive`: makes the log smaller below each session's last compaction, and nothing is lost."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hudkit.cli import complain
from hudkit.cli.common import SCHEMA, as_json, existing_log, pick
from hudkit.compose import visible
from hudkit.errors import ConfigError
from hudkit.log.event_log import EventLog
from hudkit.log.stores import SqliteLog
from hudkit.log.stores.sqlite_files import companion_path


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
    if args.restore and args.dry_run:
        raise ConfigError("--restore and --dry-run do not go together", hint="A dry run says what would be archived")
    path = existing_log(args.db)
    before = _size(path)
    sessions: list[dict[str, Any]] = []
    emptied = True
    with SqliteLog.open(path, read_only=args.dry_run) as log:
        names = (pick(log, args.session),) if args.session else log.sessions()
        for name in names:
            done = _restored(log, name) if args.restore else _archived(log, name, args.dry_run)
            sessions += [{"session": name, **done}] if done["events"] else []
        if sessions and not args.dry_run:
            emptied = log.rewrite()
    after = _size(path)
    if args.json:
        facts = {"schema": SCHEMA, "restored": args.restore, "dry_run": args.dry_run, "sessions": sessions}
        print(as_json({**facts, "size_before": before, "size_after": after}))
    else:
        verb = "restored" if args.restore else "would archive" if args.dry_run else "archived"
        for session in sessions:
            packed = f" in {session['packed']:,}" if session["packed"] else ""
            print(
                visible(
                    f"{verb}: {session['session']}: {session['events']:,} events, {session['bytes']:,} bytes{packed}"
                )
            )
        if not sessions:
            print("nothing is archived" if args.restore else "nothing to archive: no events before a compaction")
        elif not args.dry_run:
            print(f"the log has {after:,} bytes now, {before:,} before")
    if not emptied:
        complain("archive", "another process reads the log: its -wal file is emptied later")
    return 0


def _archived(log: SqliteLog, name: str, dry: bool) -> dict[str, int]:
    below = _last_compaction(log, name)
    if dry:
        events, size = log.unpacked(name, below)
        return {"below": below, "events": events, "bytes": size, "packed": 0}
    done = log.archive(name, below)
    return {"below": below, "events": done.events, "bytes": done.bytes, "packed": done.packed}


def _restored(log: SqliteLog, name: str) -> dict[str, int]:
    done = log.unarchive(name)
    return {"events": done.events, "bytes": done.bytes, "packed": done.packed}


def _last_compaction(log: EventLog, name: str) -> int:
    """The number of a session's last `compact.after`; 0 where it has none."""
    return max((event.seq for event in log.read(name) if event.type == "compact.after"), default=0)


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, companion_path(path, "-wal")) if file.exists())
