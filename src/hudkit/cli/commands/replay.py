"""`hudkit replay`: a recorded history of a host through the HUD, turn by turn."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.parsing import CliCommand, load_run

_DETAILS = """\
Explains sessions that were recorded before hudkit was installed. FILE is Claude Code's or Codex's folder, one file of
it, or OpenCode's database; without it, the histories of this machine are listed. What is there is read and never
written.

Of Claude Code and Codex: what each compaction dropped and which of it the HUD would have kept, what broke the prefix
cache (with the cause, from the requests that Claude Code records), and what the calls cost at list prices by the
host's own usage. A summary comes first, then the sessions that lost most; `--session` explains one whole, `--json`
has all. Lines that are broken, half written or of a newer version are counted and passed over.

Of OpenCode: every call with the frame that it would have had, its cost in each placement, and what survived."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="~/.claude/projects, ~/.codex/sessions, ~/.pi or opencode.db",
    )
    parser.add_argument("--session", metavar="ID", help="only the session with this id, or whose id contains it")
    parser.add_argument(
        "--window", type=_count, metavar="N", help="the model's window in tokens, if hudkit does not know the model"
    )
    parser.add_argument(
        "--budget", type=_count, metavar="N", help="token budget of a frame (default: 2 %% of the window)"
    )
    parser.add_argument(
        "--price-as", default="", metavar="MODEL", help="use the prices and the cache rules of this model (OpenCode)"
    )
    parser.add_argument("--frames", action="store_true", help="also print the frame of every call (OpenCode)")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def _run(args: argparse.Namespace) -> int:
    run = load_run("hudkit.cli.replay_list:run" if args.file is None else "hudkit.cli.replay:run")
    return run(args)


COMMAND = CliCommand(
    example="hudkit replay ~/.claude/projects",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)


def _count(text: str) -> int:
    try:
        number = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of tokens; give a whole number from 1")
    return number
