"""How commands are declared, and their parsers made.

This module, the files in `commands` and `options` are all that `--help` imports: argparse, and of ours almost
nothing. What carries a command out is imported when the command runs.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeAlias

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Carries a command out and returns its exit code."""

EXIT_CODES = (
    "exit codes: 0 fine, 1 something is wrong with what was looked at, 2 the command could not be carried out, "
    "130 stopped from the keyboard"
)


class CliCommand(NamedTuple):
    """A command, or one operation of a command such as `rooms`."""

    example: str
    """A call that works as it stands; the last but one line of `--help`."""
    arguments: Callable[[argparse.ArgumentParser], None]
    """Adds the options to the command's parser."""
    run: Run | str = ""
    """Carries the command out; for all but the shortest a name, `hudkit.cli.show:run`, which is imported to do so.
    Empty where the operations carry it out."""
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


def load_run(run: Run | str) -> Run:
    """Return what carries a command out; a name is imported."""
    if not isinstance(run, str):
        return run
    _import_msgspec()
    module, _, function = run.partition(":")
    imported: Run = getattr(import_module(module), function)
    return imported


def _import_msgspec() -> None:
    """Import msgspec, which all bodies use, as if typing_extensions were not installed.

    msgspec takes two names from it where it is there, and from typing, the same ones, where it is not. With
    typing_extensions come inspect, ast and tokenize, which takes longer than to read a log.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so the import system notes that there is none
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def operation_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the operations of a command that has some, each with its own parser."""
    subparsers = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return {name: inner for action in subparsers for name, inner in action.choices.items()}


class CommandParser(argparse.ArgumentParser):
    """A parser that takes options by their full names only, and suggests the nearest one for a wrong one."""

    def __init__(self, *positional: object, **named: object) -> None:
        defaults = {"allow_abbrev": False, "formatter_class": _HelpFormatter}
        super().__init__(*positional, **{**defaults, **named})  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            wrong = message.split()[2].partition("=")[0]
            near = suggestion(wrong, self._option_names())
            message += f". {near}" if near else f"; {self.prog} --help lists what there is"
        super().error(message)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        near = suggestion(str(value), names) or f"It is one of: {', '.join(names)}"
        raise argparse.ArgumentError(action, f"there is no {str(value)[:60]!r}. {near}")

    def _option_names(self) -> set[str]:
        parsers = (self, *operation_parsers(self).values())
        return {name for parser in parsers for name in parser._option_string_actions}


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Knows the width of the terminal by itself: argparse makes a formatter for each option, and imports shutil, with
    all kinds of archives, to ask."""

    def __init__(self, prog: str, *positional: Any, **named: Any) -> None:
        super().__init__(prog, *positional, **{"width": _terminal_width() - 2, **named})


def _terminal_width() -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:  # not a terminal
        return 80


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """Return a question that names the nearest candidate; empty where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, tuple(candidates), 1)
    return f"Did you mean {near[0]!r}?" if near else ""
