"""`hudkit replay` without a file: the histories that are on this machine. Nothing that explains one is imported."""

from __future__ import annotations

import argparse
from shlex import quote

from hudkit.cli.common import as_json
from hudkit.cli.replays.known_histories import HOST_NAMES, SCHEMA, known_histories
from hudkit.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    """Say which histories are on this machine, and how to explain them; return the exit code."""
    histories = tuple(known_histories())
    if not histories:
        *names, last = HOST_NAMES.values()
        raise ConfigError(
            f"no history of {', '.join(names)} or {last} is in its usual place",
            hint="Name one: `hudkit replay ~/.claude/projects`. A recorded day is explained by `hudkit demo`",
        )
    if args.json:
        rows = [{"host": each.host, "path": str(each.root), "files": len(each.files)} for each in histories]
        print(as_json({"schema": SCHEMA, "histories": rows}))
        return 0
    print("Histories on this machine:")
    for history in histories:
        count = len(history.files)
        files = "" if history.root.is_file() else f" ({count:,} {'file' if count == 1 else 'files'})"
        print(f"  {HOST_NAMES[history.host]}{files}: hudkit replay {quote(str(history.root))}")
    return 0
