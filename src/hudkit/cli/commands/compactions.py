"""`hudkit compactions`: what each compaction of a session dropped and kept, and how to undo one."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand
from hudkit.hosts.opencode import DEFAULT_SERVER

_DETAILS = """\
Without an action: a list. `show N` shows one in full, with its summary; `diff N` compares what the model had before
and after, one line per message; `undo N` says what undoing it would do, and with `--yes` asks a running OpenCode to
do it (`opencode serve` in the project; `--server` is its address, `OPENCODE_SERVER_PASSWORD` its password). With
`--turn`, the turn that filled the window is undone too; otherwise OpenCode, if it compacted by itself, compacts again
at once. With `--fork`, a copy of the session continues from before the compaction, and the session itself stays as it
is. OpenCode's database is never written. Tokens by part are estimates; figures that the host reported are marked."""

ACTIONS = ("list", "show", "diff", "undo")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=ACTIONS, default="list", metavar="ACTION", help=", ".join(ACTIONS)
    )
    parser.add_argument(
        "number", nargs="?", type=int, metavar="N", help="which one, counted from 1 (default: the last)"
    )
    parser.add_argument(
        "--session", metavar="ID", help="a part of a session's id, or words of its title (default: the newest)"
    )
    parser.add_argument(
        "--opencode", type=Path, metavar="FILE", help="OpenCode's database, if it is not in its usual place"
    )
    parser.add_argument(
        "--server",
        metavar="URL",
        default=DEFAULT_SERVER,
        help=f"undo: OpenCode's address (default: {DEFAULT_SERVER})",
    )
    parser.add_argument("--turn", action="store_true", help="undo: also the turn that filled the window")
    parser.add_argument("--fork", action="store_true", help="undo: in a copy of the session")
    parser.add_argument("--yes", action="store_true", help="undo: really do it")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit compactions show 2 --session ses_1",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.compactions:run",
)
