"""`hudkit redact`: takes a secret that reached the log out of it again, physically."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Give the secret in a file (`--text-file FILE`) or on standard input, never as an argument: arguments stay in the
shell's history. Or name events of one session by their numbers (`hudkit log` shows them): everything that they say is
removed, wherever the session holds it. Removed: the payloads, the frames that showed the text (also escaped or cut
off), dumps of the state, snapshots, the search index; with `--text-file` also the transcripts, requests and long
outputs of our own agent, the rooms' worlds, exported sessions and the daemon's log. The files are rewritten. Kept:
the events themselves with their numbers, so that `hudkit verify` still passes, and the rest of each payload with
`[redacted]` in it. The next call of a session that held the text begins a new epoch. A running daemon need not be
stopped.

Hosts' own transcripts are not changed. Files of hudkit that still hold the text, backups for example, are listed, and
the exit code is 1. A chat, a run or a world that is open in another process may write the text again: end it first.
`--dry-run` changes nothing."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seq", nargs="*", type=int, metavar="SEQ", help="numbers of the events to remove")
    parser.add_argument(
        "--session",
        metavar="ID",
        help="the session that the events belong to (a part of its id, or words of its title)",
    )
    parser.add_argument(
        "--text-file",
        type=Path,
        metavar="FILE",
        help="a file that contains the secret; - reads it from standard input",
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, which stays in the log")
    parser.add_argument("--dry-run", action="store_true", help="list what would be removed, and change nothing")
    parser.add_argument("--index", type=Path, metavar="FILE", help="the search index (default: beside the log)")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit redact --text-file secret.txt --dry-run",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.redact:run",
)
