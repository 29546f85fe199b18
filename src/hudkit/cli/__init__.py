"""The command line: one file a command; exit codes 0 (fine), 1 (found something wrong), 2 (could not do it)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from hudkit import __version__
from hudkit.errors import HudkitError

COMMANDS: dict[str, str] = {
    "demo": "what the HUD would have shown on a recorded day of work",
    "replay": "the same on a recorded history of yours",
    "show": "the frame of a session, now or at any event",
    "log": "the events of a session",
    "verify": "check that the log is whole and unchanged",
}
"""Every command, with what it does. The command `x` is `hudkit.cli.x`, loaded only when it is run."""

EXIT = "exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out"


def parser() -> argparse.ArgumentParser:
    """The parser of every command; reading it does not load a command."""
    top = argparse.ArgumentParser(
        prog="hudkit", description="A heads-up display for LLM agents.", epilog=f"{EXIT}. Try: hudkit demo"
    )
    top.add_argument("--version", action="version", version=f"hudkit {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, words in COMMANDS.items():
        commands.add_parser(name, help=words, add_help=False)
    return top


def command(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    module = import_module(f"hudkit.cli.{name}")
    one = argparse.ArgumentParser(
        prog=f"hudkit {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=f"example: {module.EXAMPLE}\n{EXIT}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(one)
    one.set_defaults(run=module.run)
    return one


def run(argv: Sequence[str]) -> int:
    """Run a command line; gives its exit code."""
    given = list(argv)
    name = next((word for word in given if not word.startswith("-")), None)
    if name not in COMMANDS:
        if given and name is None:
            parser().parse_args(given)
        elif name is not None:
            parser().error(f"there is no command {name!r}; the commands are: {', '.join(COMMANDS)}")
        parser().print_help()
        return 0 if not given else 2
    given.remove(name)
    arguments = command(name).parse_args(given)
    try:
        return int(arguments.run(arguments))
    except HudkitError as error:
        print(f"hudkit {name}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130
