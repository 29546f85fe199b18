"""`hudkit pin`: a line of the user's that stays in sight of a session's agent."""

from __future__ import annotations

import argparse

from hudkit.cli.options import log_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
The line is a constraint of yours: it stands with the user's rules, before all but the task, through every compaction,
from the session's next call on. An agent does the same with the operation `pin`. `--remove` takes it out of sight
again; the log keeps it. What belongs to every session of a project is `hudkit project add conventions`."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", metavar="TEXT", help="the line; with --remove its id, its text or a part of it")
    parser.add_argument(
        "--session",
        metavar="ID",
        help="the session (a part of its id, or words of its title; default: the newest one)",
    )
    parser.add_argument("--remove", action="store_true", help="remove a line that was pinned")
    log_arguments(parser)


def _run(args: argparse.Namespace) -> int:
    from hudkit.api import Hud
    from hudkit.cli.common import SCHEMA, as_json, existing_log, pick, user_settings
    from hudkit.compose import visible
    from hudkit.log.event import Origin

    with Hud.open(existing_log(args.db), settings=user_settings("pin")) as hud:
        id = pick(hud.log, args.session)
        operation, field = ("constraints.remove", "id") if args.remove else ("constraints.add", "text")
        answer = hud.session(id).call(operation, {field: args.text}, origin=Origin.USER)
    if args.json:
        print(as_json({"schema": SCHEMA, "session": id, **answer.data}))
    else:
        print(visible(f"{id}: {answer.text}"))
    return 0


COMMAND = CliCommand(
    example='hudkit pin "Releases go out on Tuesdays only"',
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)
