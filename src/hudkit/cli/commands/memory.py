"""`hudkit memory`: what was said or done in any session of any host, found, read and compared."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
`search` finds messages in the transcripts of OpenCode, Claude Code and Codex, in the sessions of `hudkit run` and
`chat`, and in hudkit's own log; transcripts are read where the hosts keep them, and never written. The index is a
file beside the log (`hudkit.search.db`) that can be rebuilt at any time; each search updates it first, and `index`
does only that. `sessions`, `children SESSION`, `messages SESSION`, `message SESSION ID`, `output SESSION ID` (what a
call gave back, by the number in the line that stands for it or by the call's id), `compactions SESSION`, `plans` and
`compare A B` read further from there. `export` writes what a session of hudkit's log recorded to a JSON file (with
`--transcript` what was said, too, and as markdown beside it),
`import NAME SESSION` reads it into a session; so does `import FILE SESSION` for a file elsewhere, also for one of
plain sections (`currentTask`, `keyDecisions`, `notes` …)."""

OPERATIONS = (
    "summary",
    "sessions",
    "children",
    "messages",
    "message",
    "output",
    "search",
    "compactions",
    "context",
    "plans",
    "compare",
    "export",
    "import",
    "index",
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", choices=OPERATIONS, metavar="OPERATION", help=", ".join(OPERATIONS))
    parser.add_argument("words", nargs="*", metavar="WORD", help="the words to search for, or ids")
    parser.add_argument("--session", metavar="ID", help="only this session (its id, or the beginning of it)")
    parser.add_argument("--project", metavar="PATH", help="only this directory, or those whose path contains this")
    parser.add_argument("--host", metavar="NAME", help="only this host, as `hudkit memory sessions` names it")
    parser.add_argument(
        "--role", metavar="ROLE", help="only messages of this role: user, assistant, tool, reasoning, summary or host"
    )
    parser.add_argument("--tool", metavar="NAME", help="only calls of this tool and their results")
    parser.add_argument("--since", metavar="TIME", help="only since 2026-11-21, 2026-11-21T09:30, or 7d or 12h ago")
    parser.add_argument("--until", metavar="TIME", help="only before this time")
    parser.add_argument("--limit", metavar="N", type=int, help="at most this many")
    parser.add_argument("--skip", metavar="N", type=int, help="skip this many first")
    parser.add_argument("--before", metavar="ID", help="messages before this one")
    parser.add_argument("--after", metavar="ID", help="messages after this one")
    parser.add_argument("--length", metavar="N", type=int, help="at most this many characters of each message")
    parser.add_argument("--offset", metavar="N", type=int, help="begin at this character of a long text")
    parser.add_argument(
        "--tokens", metavar="N", type=int, help="approximate limit of the answer, in tokens (default: 4000)"
    )
    parser.add_argument("--tools", action="store_true", help="include tool results and reasoning")
    parser.add_argument("--all", action="store_true", help="include the sessions of subagents")
    parser.add_argument("--transcript", action="store_true", help="export what was said, too, also as markdown")
    parser.add_argument("--syntax", action="store_true", help="the words are an FTS5 expression")
    parser.add_argument("--stale", action="store_true", help="do not update the index first")
    parser.add_argument(
        "--opencode", type=Path, metavar="FILE", help="OpenCode's database, if it is not in its usual place"
    )
    parser.add_argument("--claude", type=Path, metavar="DIR", help="Claude Code's projects folder, or one transcript")
    parser.add_argument("--codex", type=Path, metavar="DIR", help="Codex's sessions folder, or one transcript")
    parser.add_argument("--pi", type=Path, metavar="DIR", help="pi's sessions folder, or one transcript")
    parser.add_argument("--index", type=Path, metavar="FILE", help="the search index (default: beside the log)")
    log_arguments(parser)


COMMAND = CliCommand(
    example='hudkit memory search "why did the import fail" --project orchard --since 7d',
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.memory:run",
)
