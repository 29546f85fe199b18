"""`hudkit sessions`: the sessions of hudkit's own agent: list, search, export, fork, delete, trim."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import at_least_one
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
These are the sessions of `hudkit run`, `hudkit chat` and `AgentLoop`. A session is named by its id, a part of it (the
list shows its end) or words of its title. `search WORDS` brings the index of `hudkit memory search` up to date and
looks at these sessions only.

`export` prints one session with its sub-agents, or writes it to a new file with `--output`; known forms of secrets
are replaced unless `--with-secrets` is given. The page of `--format html` needs no network and runs nothing.

`fork` makes a new session with the messages of another one, which stays as it is; `--at` names the last message that
it has, by its id or the end of it, as an export shows it.

`delete` takes one session away for good, with its sub-agents' sessions, requests, long outputs and entries of the
index, after a question (`--yes`: without); with `--hud` also what its HUD recorded. `trim` deletes the oldest ones as
`[session] keep_days` and `keep_megabytes` say, or the options; `hudkit run` and `chat` do so when they begin. No
session that is open goes.

See [sessions.md](sessions.md#sessions-of-our-own-agent)."""

OPERATIONS = ("list", "search", "export", "fork", "delete", "trim")


def _arguments(parser: argparse.ArgumentParser) -> None:
    what = f"{', '.join(OPERATIONS)} (default: list)"
    parser.add_argument("operation", nargs="?", default="list", choices=OPERATIONS, metavar="OPERATION", help=what)
    parser.add_argument("words", nargs="*", metavar="WORD", help="a session, or the words to search for")
    parser.add_argument("--project", metavar="PATH", help="only this directory, or those whose path contains this")
    parser.add_argument("--model", metavar="NAME", help="only sessions of models with this in their name")
    parser.add_argument("--since", metavar="TIME", help="only since 2026-11-21, 2026-11-21T09:30, or 7d or 12h ago")
    parser.add_argument("--until", metavar="TIME", help="only before this time")
    parser.add_argument("--limit", metavar="N", type=at_least_one, help="at most this many")
    parser.add_argument("--all", action="store_true", help="list the sessions of sub-agents, too")
    parser.add_argument(
        "--format", choices=("markdown", "jsonl", "html"), help="how a session is exported (default: markdown)"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="export to this new file")
    parser.add_argument("--with-secrets", action="store_true", help="export secrets as they are")
    parser.add_argument("--at", metavar="MESSAGE", help="the last message that a fork has (default: all of them)")
    parser.add_argument("--yes", action="store_true", help="delete without a question")
    parser.add_argument("--hud", action="store_true", help="delete what the HUD recorded, too")
    days = "trim: the days that a session stays after it was worked in last"
    parser.add_argument("--keep-days", metavar="N", type=at_least_one, help=days)
    megabytes = "trim: the megabytes that sessions and requests may have together"
    parser.add_argument("--keep-megabytes", metavar="N", type=at_least_one, help=megabytes)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="where sessions are stored (default: the user's data directory)"
    )
    parser.add_argument("--json", action="store_true", help="print facts as JSON")


COMMAND = CliCommand(
    example='hudkit sessions search "why did the import fail"',
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.sessions:run",
)
