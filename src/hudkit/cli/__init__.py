"""The command line: one file a command; exit codes 0 (fine), 1 (found something wrong), 2 (could not do it)."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NoReturn, TextIO

from hudkit import __version__
from hudkit.compose import visible
from hudkit.errors import HudkitError

COMMANDS: dict[str, str] = {
    "demo": "what the HUD would have shown on a recorded day of work",
    "replay": "the same on a recorded history of yours",
    "run": "give an agent one prompt, and end with its answer",
    "chat": "talk with an agent, with its HUD in sight",
    "show": "the frame of a session, now or at any event",
    "log": "the events of a session",
    "verify": "check that the log is whole and unchanged",
    "redact": "take a secret that reached the log out of it, physically",
    "archive": "make the log smaller below each session's last compaction; nothing is lost",
    "install": "put the HUD into an agent's host",
    "uninstall": "take the HUD out of an agent's host again",
    "mcp": "the HUD's tools for any MCP client, on standard input and output or on HTTP",
    "serve": "the resident process that hosts ask; they start it on demand",
    "stop": "ask the resident process to end",
    "config": "the settings in force, and whether their files are right",
    "memory": "what was said or done in any session: search, read, compare",
    "compactions": "what each compaction dropped and kept; take one back",
    "project": "the defaults that all sessions of a project have",
    "sections": "custom sections: what there is, trust a project's, try one",
    "rooms": "worlds of agents: found one, play it, watch it in the browser, take it elsewhere",
    "doctor": "is everything in place? says what is wrong and how to mend it",
}
"""Every command, with what it does. The command `x` is `hudkit.cli.x`, loaded only when it is run."""

EXIT = "exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out"


class Parser(argparse.ArgumentParser):
    """A parser that takes options by their full names only, and names the nearest one for a wrong one."""

    def __init__(self, *positional: object, **named: object) -> None:
        super().__init__(*positional, **{"allow_abbrev": False, **named})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            wrong = message.split()[2].partition("=")[0]
            near = nearest(wrong, self._options())
            message += f". {near}" if near else f"; {self.prog} --help lists what there is"
        super().error(message)

    def _options(self) -> set[str]:
        """The names of all options, those of operations too."""
        inner = operations(self).values()
        return {
            *self._option_string_actions,
            *(name for operation in inner for name in operation._option_string_actions),
        }


def operations(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The operations of a command that has some, each with a parser of its own."""
    subparsers = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: inner for action in subparsers for name, inner in action.choices.items()}


def nearest(word: str, candidates: Iterable[str]) -> str:
    """`Did you mean …?`, or nothing where nothing is near."""
    near = get_close_matches(word, tuple(candidates), 1)
    return f"Did you mean {near[0]!r}?" if near else ""


def parser() -> argparse.ArgumentParser:
    """The parser of every command; reading it does not load a command."""
    top = Parser(prog="hudkit", description="A heads-up display for LLM agents.", epilog=f"{EXIT}. Try: hudkit demo")
    top.add_argument("--version", action="version", version=f"hudkit {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, words in COMMANDS.items():
        commands.add_parser(name, help=words, add_help=False)
    return top


def command(name: str) -> argparse.ArgumentParser:
    """The parser of one command."""
    module = import_module(f"hudkit.cli.{name}")
    parser = Parser(
        prog=f"hudkit {name}",
        description=COMMANDS[name][0].upper() + COMMANDS[name][1:] + ".",
        epilog=f"example: {module.EXAMPLE}\n{getattr(module, 'EXIT', EXIT)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(parser)
    parser.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str]) -> int:
    """Run a command line; gives its exit code."""
    if sys.stdout is None:  # closed by the caller
        sys.stdout = io.StringIO()
    _forgive(sys.stdout)
    words = list(argv)
    name = next((word for word in words if not word.startswith("-")), None)
    if name not in COMMANDS:
        if words and name is None:
            parser().parse_args(words)
        elif name is not None:
            near = nearest(name, COMMANDS) or f"The commands are: {', '.join(COMMANDS)}"
            parser().error(f"there is no command {name!r}. {near}")
        parser().print_help()
        return 0 if not words else 2
    words.remove(name)
    arguments = command(name).parse_args(words)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
        return code
    except HudkitError as error:
        complain(name, error)
        return 2
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        complain(name, error if error.filename else f"the output cannot be written: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def complain(name: str, error: object) -> None:
    """A line on the error stream that says what is wrong; what a file or a log holds is shown, not sent."""
    print(f"hudkit {name}: {visible(str(error))}", file=sys.stderr)


def _forgive(stream: TextIO) -> None:
    """A character that the output cannot show is no reason to stop."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Nobody reads on: what is still to be written goes nowhere, so that Python's own last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
