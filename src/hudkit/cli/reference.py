"""The reference of the command line, generated: `python -m hudkit.cli.reference > docs/cli.md`."""

from __future__ import annotations

import argparse

from hudkit.cli.commands import COMMANDS, build_parser, load_command
from hudkit.cli.parsing import operation_parsers

_HEAD = """\
# Command line

This page is generated from the commands themselves; a test keeps it current.

| exit code | meaning |
|---|---|
| 0 | fine |
| 1 | something is wrong with what was looked at: a damaged log, a wrong setting, a record that cannot be read |
| 2 | the command could not be carried out: a wrong option, no log, a file that cannot be opened |
| 130 | stopped from the keyboard |

Every command has `--help` and, where it prints facts, `--json`: one object with a `schema` number, which is raised
when a field changes its meaning or goes away (`log` prints one object per line, `config schema` the schema itself).
JSON is ASCII. What is wrong is said on the error stream. A character that the output cannot show is replaced.
On a terminal, output has colours, is broken between words and renders markdown; `NO_COLOR` switches the colours off,
`TERM=dumb` and a pipe all of it.

| variable | meaning |
|---|---|
| `HUDKIT_DB` | the log, instead of `hudkit.db` in the user's data directory |
| `HUDKIT_CONFIG` | the user's settings, instead of `config.toml` in the user's configuration directory |
| `NO_COLOR` | no colours |

`show` uses the user's [settings](configuration.md); if they are wrong, the error stream says so and the defaults
apply."""

_FENCE = "```"


def reference() -> str:
    """Return the whole page on the command line as markdown."""
    return "\n\n".join((_HEAD, *(_entry(name) for name in COMMANDS))) + "\n"


def _entry(name: str) -> str:
    command = load_command(name)
    parser = build_parser(name, command)
    parts = [f"## {name}", parser.description or ""]
    if command.details:
        parts.append(command.details)
    operations = operation_parsers(parser)
    if not operations:
        parts += [_table(parser), _example(parser)]
    for operation, inner in operations.items():
        parts += [f"### {name} {operation}", inner.description or "", _table(inner), _example(inner)]
    return "\n\n".join(parts)


def _table(parser: argparse.ArgumentParser) -> str:
    shown = [action for action in parser._actions if action.dest != "help"]
    return "\n".join(
        ("| argument | meaning |", "|---|---|", *(f"| {_call(action)} | {_meaning(action)} |" for action in shown))
    )


def _example(parser: argparse.ArgumentParser) -> str:
    first = (parser.epilog or "").partition("\n")[0]
    return f"{_FENCE}console\n$ {first.removeprefix('example: ')}\n{_FENCE}"


def _call(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    value = " \\| ".join(f"`{choice}`" for choice in action.choices or ()) or f"`{action.metavar or action.dest}`"
    if not names:
        return value
    return names if action.nargs == 0 else f"{names} {value}"


def _meaning(action: argparse.Action) -> str:
    return (action.help or "").replace("%%", "%").replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
