"""The command line: one file a command, one line in the table of commands.

Exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out, 130 stopped
from the keyboard.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import NamedTuple, NoReturn, TextIO

from hudkit import __version__
from hudkit.compose import visible
from hudkit.errors import HudkitError

COMMANDS: dict[str, str] = {
    "demo": "show what the HUD would have been on a recorded day of work",
    "replay": "show what the HUD would have been on your own recorded history",
    "run": "give an agent one prompt and print its answer",
    "chat": "talk with an agent, with its HUD in sight",
    "show": "show the frame of a session, now or at any event",
    "log": "list the events of a session",
    "verify": "check that the log is complete and unchanged",
    "redact": "remove a secret from the log, physically",
    "backup": "copy the log while it is in use, verified, and keep the newest copies",
    "restore": "put a backup in the place of the log, which stays beside it",
    "repair": "write a damaged log anew with every event that verifies",
    "archive": "compress the log below each session's last compaction; nothing is lost",
    "install": "install the HUD in an agent's host",
    "uninstall": "remove the HUD from an agent's host",
    "mcp": "serve the HUD's tools to any MCP client, over standard input and output or over HTTP",
    "serve": "run the daemon that hosts talk to; they start it on demand",
    "stop": "ask the daemon to stop",
    "config": "show the settings in force, and check their files",
    "memory": "search, read and compare what was said or done in any session",
    "compactions": "list what each compaction dropped and kept; undo one",
    "pin": "keep one line of yours in sight of a session's agent",
    "project": "show or set the defaults that all sessions of a project share",
    "sections": "list custom sections, trust a project's, try one",
    "rooms": "create a world of agents, play it, watch it in the browser, export it",
    "doctor": "check that everything is in place, and say how to fix what is not",
}
"""Every command, with what it does. The command `x` is `COMMAND` of the module `hudkit.cli.x`, which is imported only
when the command is run."""

EXIT_CODES = (
    "exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out, "
    "130 stopped from the keyboard"
)


class CliCommand(NamedTuple):
    """A command, or one operation of a command such as `rooms`: what its module says of it."""

    example: str
    """A call that works as it stands; the last but one line of `--help`."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds the options to the command's parser."""
    run: Callable[[argparse.Namespace], int]
    """Carries the command out and returns its exit code."""
    details: str = ""
    """Markdown for the command's section in docs/cli.md."""
    exit_codes: str = EXIT_CODES
    extra: str = ""
    """The extra of hudkit that has the packages which the command imports; none where the core is enough."""

    def description(self, summary: str) -> str:
        """Return the summary of the table of commands as the sentence with which `--help` begins."""
        return f"{summary[0].upper()}{summary[1:]}."

    @property
    def epilog(self) -> str:
        """Return the last lines of `--help`: the example and the exit codes."""
        return f"example: {self.example}\n{self.exit_codes}"


def main(argv: Sequence[str], on_ready: Callable[[], object] | None = None) -> int:
    """Run a command line and return its exit code.

    What a user can cause (a wrong option, a missing package, a file that cannot be read or written) is told in one
    line; only a mistake of ours ends with a traceback.

    `on_ready` is called once the command is imported and its options are read, before it runs.
    """
    if sys.stdout is None:  # closed by the caller
        sys.stdout = io.StringIO()
    _replace_unprintable(sys.stdout)
    words = list(argv)
    name = next((word for word in words if not word.startswith("-")), None)
    if name not in COMMANDS:
        return _without_command(words, name)
    words.remove(name)
    extra = ""
    try:
        # The command's module is imported here, inside the boundary: it may need a package of an extra.
        command = load_command(name)
        extra = command.extra
        args = build_parser(name, command).parse_args(words)
        if on_ready is not None:
            on_ready()
        code = int(args.run(args))
        sys.stdout.flush()
        return code
    except HudkitError as error:
        complain(name, error)
        return 2
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "hudkit"):  # a mistake of ours, not a missing package
            raise
        complain(name, f"the package {package} is not installed. {_install_hint(extra) or f'pip install {package}'}")
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


def load_command(name: str) -> CliCommand:
    """Import the module of a command and return what it says of the command."""
    command: CliCommand = import_module(f"hudkit.cli.{name}").COMMAND
    return command


def build_parser(name: str, command: CliCommand | None = None) -> argparse.ArgumentParser:
    """Return the parser of one command."""
    command = command or load_command(name)
    parser = _CommandParser(
        prog=f"hudkit {name}",
        description=command.description(COMMANDS[name]),
        epilog=command.epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.arguments(parser)
    parser.set_defaults(run=command.run)
    return parser


def operation_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the operations of a command that has some, each with its own parser."""
    subparsers = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: inner for action in subparsers for name, inner in action.choices.items()}


def _install_hint(extra: str) -> str:
    """Return the call that installs an extra of hudkit; empty without one."""
    return f"pip install 'hudkit[{extra}]'" if extra else ""


def complain(name: str, error: object) -> None:
    """Print one line that says what is wrong to the error stream. What a file or a log holds is shown escaped: it
    must not control the terminal."""
    print(f"hudkit {name}: {visible(str(error))}", file=sys.stderr)


class _CommandParser(argparse.ArgumentParser):
    """A parser that takes options by their full names only, and suggests the nearest one for a wrong one."""

    def __init__(self, *positional: object, **named: object) -> None:
        super().__init__(*positional, **{"allow_abbrev": False, **named})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            wrong = message.split()[2].partition("=")[0]
            near = _suggestion(wrong, self._option_names())
            message += f". {near}" if near else f"; {self.prog} --help lists what there is"
        super().error(message)

    def _option_names(self) -> set[str]:
        parsers = (self, *operation_parsers(self).values())
        return {name for parser in parsers for name in parser._option_string_actions}


def _without_command(words: Sequence[str], name: str | None) -> int:
    """Answer a command line that names no command of ours."""
    parser = _CommandParser(prog="hudkit", description="A heads-up display for LLM agents.", epilog=_TOP_EPILOG)
    parser.add_argument("--version", action="version", version=f"hudkit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command, summary in COMMANDS.items():
        commands.add_parser(command, help=summary, add_help=False)
    if words and name is None:
        parser.parse_args(words)
    elif name is not None:
        near = _suggestion(name, COMMANDS) or f"The commands are: {', '.join(COMMANDS)}"
        parser.error(f"there is no command {name!r}. {near}")
    parser.print_help()
    return 0 if not words else 2


_TOP_EPILOG = f"{EXIT_CODES}. Try: hudkit demo"


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    near = get_close_matches(word, tuple(candidates), 1)
    return f"Did you mean {near[0]!r}?" if near else ""


def _replace_unprintable(stream: TextIO) -> None:
    """Let a character that the output's encoding lacks be replaced, instead of ending the command."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Send what is still to be written nowhere: nobody reads it, and Python's own last flush would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
