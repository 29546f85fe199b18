"""`hudkit rooms`: worlds in which agents live in rooms; found one, play it, look into it, take it elsewhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

EXAMPLE = "hudkit rooms serve"

MORE = """\
A world is one file. `NAME` is `NAME.db` in `worlds` among the user's data; what has a `/` in it, or ends with `.db`,
is a path. Without `--world`, it is the world that changed last; `serve` and `run` make the one that comes with hudkit
where there is none. See [rooms.md](rooms.md)."""

OPERATIONS: Mapping[str, tuple[str, str]] = {
    "new": ("making", "make a world: the one that comes with hudkit, or that of a TOML file"),
    "run": ("playing", "play a world for some beats or some time, and sum up"),
    "serve": ("serving", "play a world, with a page in the browser to watch it and take part"),
    "say": ("saying", "say something in a room, as the Architect"),
    "show": ("showing", "who and what is there; or what one agent sees, as it sees it"),
    "prompts": ("prompting", "what agents are told; written to files, and changed from files"),
    "replay": ("replaying", "compose every HUD of a world again, and compare it with what was seen"),
    "fork": ("making", "a new world with the past of another one, up to an event"),
    "export": ("exporting", "what happened, as a transcript to read or as JSON lines"),
}
"""Each operation: its module here, and what it does. `x` is read by the functions `x_arguments` and `x`."""

EXAMPLES: Mapping[str, str] = {
    "new": "hudkit rooms new harbour --file harbour.toml --model anthropic:claude-haiku-4-5",
    "run": "hudkit rooms run --beats 200 --fast",
    "serve": "hudkit rooms serve --port 8700",
    "say": "hudkit rooms say Maren 'Who remembers the old harbour?'",
    "show": "hudkit rooms show Maren --format markdown",
    "prompts": "hudkit rooms prompts --write my-prompts",
    "replay": "hudkit rooms replay --json",
    "fork": "hudkit rooms fork --at 120 what-if",
    "export": "hudkit rooms export --format jsonl --output island.jsonl",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    operations = parser.add_subparsers(dest="operation", metavar="OPERATION", required=True)
    for name, (module, words) in OPERATIONS.items():
        inner = operations.add_parser(
            name,
            help=words,
            description=f"{words[0].upper()}{words[1:]}.",
            epilog=f"example: {EXAMPLES[name]}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _of(module, f"{name}_arguments")(inner)
        inner.add_argument("--json", action="store_true", help="print facts as JSON")


def run(args: argparse.Namespace) -> int:
    module, _ = OPERATIONS[args.operation]
    code: int = _of(module, args.operation)(args)
    return code


def world_argument(parser: argparse.ArgumentParser) -> None:
    """The option of every operation on a world that is there."""
    parser.add_argument(
        "--world", metavar="NAME", help="the world's name or file (default: the one that changed last)"
    )


def file_argument(parser: argparse.ArgumentParser, name: str, help: str) -> None:
    """An option that names a file."""
    parser.add_argument(name, type=Path, metavar="FILE", help=help)


def _of(module: str, name: str) -> Callable[..., int]:
    function: Callable[..., int] = getattr(import_module(f"{__name__}.{module}"), name)
    return function
