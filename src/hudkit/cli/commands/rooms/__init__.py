"""`hudkit rooms`: worlds in which agents live in rooms; create one, play it, look into it, export it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
A world is one file. `NAME` is `NAME.db` in `worlds` in the user's data directory; a name with a `/` in it, or one
that ends with `.db`, is a path. Without `--world`, the world that changed last is meant; where there is none, `serve`
and `run` show the recorded one that comes with hudkit. With `--db`, it is in a database. See [rooms.md](rooms.md)."""

OPERATIONS: Mapping[str, str] = {
    "new": "create a world: the one that comes with hudkit, or one from a TOML file",
    "run": "play a world for some beats or some time, and sum up",
    "worker": "play what nobody else plays of a world on a server, together with other workers",
    "serve": "play a world, with a page in the browser to watch it and take part",
    "say": "say something in a room, as the Architect",
    "show": "who and what is there; or what one agent sees, as it sees it",
    "prompts": "the agents' instructions: list them, write them to files, read them back",
    "replay": "compose every HUD of a world again, and compare it with what was seen",
    "fork": "create a world with the past of another one, up to an event",
    "interview": "ask one agent something aside; the world never knows",
    "rerun": "play a world's recorded answers again with something changed, and see where it parts",
    "experiment": "play a world with many seeds in several variants, and compare what came out",
    "forecast": "what a world of up to a million agents takes: rows, bytes, tokens, dollars, cores",
    "export": "what happened, as a transcript to read or as JSON lines",
}
"""Every operation, with what it does. The operation `x` is `COMMAND` of the module `hudkit.cli.commands.rooms.x`."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    operations = parser.add_subparsers(dest="operation", metavar="OPERATION", required=True)
    for name, summary in OPERATIONS.items():
        operation = _load_operation(name)
        inner = operations.add_parser(
            name,
            help=summary,
            description=operation.description(summary),
            epilog=operation.epilog,
        )
        inner.set_defaults(run=operation.run)
        operation.arguments(inner)
        inner.add_argument("--json", action="store_true", help="print facts as JSON")


def _load_operation(name: str) -> CliCommand:
    operation: CliCommand = import_module(f"{__name__}.{name}").COMMAND
    return operation


COMMAND = CliCommand("hudkit rooms serve", _arguments, details=_DETAILS)
