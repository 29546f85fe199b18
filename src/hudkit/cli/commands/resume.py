"""`hudkit resume`: the next session of a project, of whatever host, takes up the task of another."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Begin in one agent, go on in another: after this command the next session that begins in the project, in Claude
Code, Codex, OpenCode or any other host, takes up the task with its rules, preferences, live decisions, open steps,
blockers and notes, as they are at that time, and has them in its first call. The session that they come from stays as
it is. An agent does the same with the operation `task.resume`. Without SESSION, the task on which a session of the
project worked last is handed on. `--list` shows the tasks of the project's sessions, `--undo` takes back what nobody
has taken up yet."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", help="a part of a session's id, or words of its title or task")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="list the open tasks of the project")
    what.add_argument("--undo", action="store_true", help="hand nothing on")
    parser.add_argument("--project", type=Path, metavar="DIR", help="the project (default: this directory's)")
    log_arguments(parser)


COMMAND = CliCommand(
    example="hudkit resume",
    details=_DETAILS,
    arguments=_arguments,
    run="hudkit.cli.resume:run",
)
