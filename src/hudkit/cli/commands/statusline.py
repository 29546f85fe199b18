"""`hudkit statusline`: the line below Claude Code's prompt."""

from __future__ import annotations

import argparse

from hudkit.cli.parsing import CliCommand

_DETAILS = """\
Claude Code runs a command after each response and shows what it prints. This one reads Claude Code's JSON from
standard input and one small file that the daemon keeps for each session, and asks nobody: window, forecast, task,
and how long the provider's cache stays warm. `hudkit install claude-code --statusline` puts it into the settings in a
form that starts faster than this command, below what a status line of yours prints; `hudkit uninstall claude-code`
gives yours back."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # Claude Code says everything on standard input


def _run(args: argparse.Namespace) -> int:  # noqa: ARG001
    import sys

    from hudkit.hosts.claude_code import status_line
    from hudkit.paths import data_directory

    line = status_line.main(str(data_directory()), sys.stdin.read())
    if line:
        print(line)
    return 0


COMMAND = CliCommand(
    example="hudkit statusline",
    details=_DETAILS,
    arguments=_arguments,
    run=_run,
)
