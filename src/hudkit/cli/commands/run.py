"""`hudkit run`: one prompt to an agent, worked on until it is answered."""

from __future__ import annotations

import argparse
from pathlib import Path

from hudkit.cli.options import session_arguments
from hudkit.cli.parsing import CliCommand

_DETAILS = """\
The prompt can be read from standard input: give no prompt, or `-`; with `-` after other words, it is appended to
them. Without a terminal, the last answer goes to standard output and everything else to the error stream. Exit codes:
0 the model is done, 1 the turn ended otherwise, 2 it could not be carried out, 130 cancelled. With `--json-input` a
program drives the session over standard input and output, in as many turns as it likes; it is asked for permissions
and can steer and cancel. See [terminal.md](terminal.md#for-programs)."""

_EXIT_CODES = (
    "exit codes: 0 the model is done, 1 the turn ended otherwise, 2 it could not be carried out, 130 cancelled"
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="what to do; - reads it from standard input")
    session_arguments(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on the error stream")
    parser.add_argument("--json", action="store_true", help="print what happens as JSON, one object per line")
    parser.add_argument(
        "--answer-schema", type=Path, metavar="FILE", help="the answer is JSON that fits the JSON Schema in FILE"
    )
    parser.add_argument(
        "--json-input", action="store_true", help="read prompts and answers as JSON lines, and print events so"
    )


COMMAND = CliCommand(
    example='hudkit run --model anthropic:claude-sonnet-4-6 "Make the failing test pass"',
    details=_DETAILS,
    exit_codes=_EXIT_CODES,
    arguments=_arguments,
    run="hudkit.cli.run:run",
    extra="session",
)
