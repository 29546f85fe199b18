"""The command line: the boundary inside which every command is imported, parsed and run.

Exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out, 130 stopped
from the keyboard.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from hudkit import __version__
from hudkit.cli.commands import COMMANDS, GROUPS, build_parser, load_command
from hudkit.cli.parsing import EXIT_CODES, CommandParser, load_run, suggestion
from hudkit.errors import HudkitError

__all__ = ["complain", "main"]


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
    extra = ""
    try:
        try:
            if name not in COMMANDS:
                code = _without_command(words, name)
            else:
                words.remove(name)
                command = load_command(name)
                extra = command.extra
                args = build_parser(name, command).parse_args(words)
                # Imported inside the boundary: it may need a package of an extra.
                run = load_run(args.run)
                if on_ready is not None:
                    on_ready()
                code = run(args)
        except SystemExit:  # help was printed, or a wrong option
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return code
    except HudkitError as error:
        complain(name or "", error)
        return 2
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "hudkit"):  # a mistake of ours, not a missing package
            raise
        complain(name or "", _missing_package(package, extra, error))
        return 2
    except BrokenPipeError:
        _discard_output()
        return 0
    except OSError as error:
        _discard_output()
        complain(name or "", error if error.filename else f"the output cannot be written: {error.strerror or error}")
        return 2
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _missing_package(package: str, extra: str, error: ImportError) -> str:
    """Return what is wrong with a package that a command imports, and the call that installs it."""
    from hudkit.installation import install_hint

    hint = install_hint(extra)
    if isinstance(error, ModuleNotFoundError):
        return f"the package {package} is not installed. {hint}"
    return f"the package {package} cannot be imported: {error}. To install it again: {hint}"


def complain(name: str, error: object) -> None:
    """Print one line that says what is wrong to the error stream. What a file or a log holds is shown escaped: it
    must not control the terminal."""
    print(f"hudkit {name}: {_visible(str(error))}", file=sys.stderr)


def _visible(text: str) -> str:
    try:
        from hudkit.compose import visible
    except (ImportError, OSError):  # the installation is broken, which is what the text says
        return ascii(text)[1:-1]
    return visible(text)


def _without_command(words: Sequence[str], name: str | None) -> int:
    """Answer a command line that names no command of ours."""
    if name is None and words and words[0] in ("-V", "--version"):
        print(f"hudkit {__version__}")
        return 0
    if name is None and (not words or words[0] in ("-h", "--help")):
        print("\n".join(_overview()))
        return 0
    parser = CommandParser(prog="hudkit", usage="hudkit COMMAND [OPTION ...]")
    if name is not None:
        near = suggestion(name, COMMANDS) or f"The commands are: {', '.join(COMMANDS)}"
        parser.error(f"there is no command {name!r}. {near}")
    parser.add_argument("-V", "--version", action="store_true")
    parser.parse_args(words)
    return 2


def _overview() -> Iterator[str]:
    """Yield the lines of `hudkit --help`: the commands in groups, and where to begin."""
    yield from ("usage: hudkit COMMAND [OPTION ...]", "", "A heads-up display for LLM agents.")
    width = max(map(len, COMMANDS))
    for group, commands in GROUPS.items():
        yield from ("", f"{group}:")
        yield from (f"    {name:<{width}}  {summary}" for name, summary in commands.items())
    yield from ("", "to begin:")
    width = max(map(len, _BEGINNINGS))
    yield from (f"    {example:<{width}}  {what}" for example, what in _BEGINNINGS.items())
    yield from (
        "",
        "hudkit help COMMAND, or hudkit COMMAND --help, has the options of a command and an example.",
        EXIT_CODES,
    )


_BEGINNINGS = {
    "hudkit demo": "see a HUD at work, on a recorded day",
    "hudkit install opencode": "put it into OpenCode; `install mcp --client NAME` into others",
    "hudkit show": "see what the newest session's agent has in front of it",
    'hudkit run "Fix the test"': "give hudkit's own agent a prompt",
    "hudkit rooms serve": "watch a world of agents in the browser",
}
"""Calls for the first minutes, each with what it does."""


def _replace_unprintable(stream: TextIO) -> None:
    """Let a character that the output's encoding lacks be replaced, instead of ending the command."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")


def _discard_output() -> None:
    """Send what is still to be written nowhere: nobody reads it, and Python's own last flush would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
