"""`hudkit verify`: is the log whole and unchanged? Names the first bad event of each session."""

from __future__ import annotations

import argparse
import json

import msgspec

from hudkit.cli.place import SCHEMA, log_arguments, open_read_only

EXAMPLE = "hudkit verify --db /path/to/hudkit.db"


def arguments(one: argparse.ArgumentParser) -> None:
    log_arguments(one)


def run(given: argparse.Namespace) -> int:
    with open_read_only(given.db) as hud:
        findings = list(hud.verify())
        sessions = hud.sessions()
        events = sum(hud.log.last_seq(name) for name in sessions)
    if given.json:
        facts = {"schema": SCHEMA, "sessions": len(sessions), "events": events}
        print(json.dumps({**facts, "findings": msgspec.to_builtins(findings)}, indent=2))
    elif findings:
        for finding in findings:
            where = f"session {finding.session_id}, event {finding.seq}" if finding.session_id else "the file"
            print(f"BAD   {finding.code:<8} {where}: {finding.message}")
    else:
        print(f"fine: {events} events in {len(sessions)} sessions, every link of the chains holds")
    return 1 if findings else 0
