"""`hudkit repair`: a damaged log is written anew with all that verifies."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Every event that verifies is kept, with its number; where SQLite cannot read the file any more, events are looked for
in its raw pages. In the place of an event that is lost stands an `event.gap`, which says why. What is lost is listed.
The log as it was stays, as `hudkit.db.before-repair-TIME`. A daemon that has the log open is asked to end; where
another program has it open, nothing is changed and the exit code is 2. `--dry-run` only says what would be kept and
lost; then the exit code is 1 if anything is wrong. `--db` also takes the file of a [world](rooms.md). See
[recovery.md](recovery.md)."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="list what would be lost, and change nothing")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    import msgspec

    from hudkit.cli.common import SCHEMA, as_json, existing_log, with_daemon_stopped
    from hudkit.clock import unix_ms, uuid7
    from hudkit.compose import visible
    from hudkit.log.stores.recovery import repair

    path = existing_log(args.db)
    if args.dry_run:
        report = repair(path, unix_ms(), uuid7, dry_run=True)
    else:
        report = with_daemon_stopped(lambda: repair(path, unix_ms(), uuid7))
    if args.json:
        print(as_json({"schema": SCHEMA, "dry_run": args.dry_run, **msgspec.to_builtins(report)}))
    elif not report.findings:
        print(f"nothing to repair: every event of {path} verifies")
    else:
        for finding in report.findings:
            where = f"session {finding.session_id}, event {finding.seq}" if finding.session_id else "the file"
            print(visible(f"found: {where}: {finding.message}"))
        for lost in report.lost:
            kind = f" ({lost.type})" if lost.type else ""
            print(visible(f"{'would be lost' if args.dry_run else 'lost'}: {lost.session}, event {lost.seq}{kind}"))
        raw = f", {report.carved} of them out of raw pages" if report.carved else ""
        verb = "would be kept" if args.dry_run else "kept"
        print(f"{verb}: {report.events} events of {report.sessions} sessions{raw}; lost: {len(report.lost)}")
        if report.old_log:
            print(f"the log as it was: {report.old_log}")
    return 1 if args.dry_run and report.findings else 0


COMMAND = CliCommand(example="hudkit repair --dry-run", details=_DETAILS, arguments=_arguments, run=_run)
