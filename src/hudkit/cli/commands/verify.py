"""`hudkit verify`: is the log whole and unchanged? Names the first bad event of each session."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Reads every event once and changes nothing. A file that is malformed, truncated or not a log at all is a finding (exit
code 1); one that cannot be read, or was written by a newer hudkit, is not judged (exit code 2). With `--json`,
`sessions` and `events` are null if there are findings."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    log_arguments(parser, server=True)


def _run(args: argparse.Namespace) -> int:
    from contextlib import closing

    import msgspec

    from hudkit.cli.common import SCHEMA, as_json, existing_log, open_log_read_only
    from hudkit.compose import visible
    from hudkit.log.stores import verify_file
    from hudkit.paths import log_place

    place = args.db or log_place()
    if isinstance(place, str):
        with closing(open_log_read_only(place)) as log:
            findings = list(log.verify())
    else:
        findings = list(verify_file(existing_log(place)))
    sessions = events = None
    if not findings:
        with closing(open_log_read_only(place)) as log:
            names = log.sessions()
            sessions, events = len(names), sum(log.last_seq(name) for name in names)
    if args.json:
        facts = {"schema": SCHEMA, "sessions": sessions, "events": events}
        print(as_json({**facts, "findings": msgspec.to_builtins(findings)}))
    elif findings:
        whole = "the log" if isinstance(place, str) else "the file"
        for finding in findings:
            where = f"session {finding.session_id}, event {finding.seq}" if finding.session_id else whole
            print(visible(f"BAD   {finding.code:<8} {where}: {finding.message}"))
    else:
        print(f"fine: {events} events in {sessions} sessions, every link of the chains holds")
    return 1 if findings else 0


COMMAND = CliCommand(
    example="hudkit verify --db /path/to/hudkit.db",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)
