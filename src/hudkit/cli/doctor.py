"""`hudkit doctor`: a line for each thing that has to be in place, and what to do where it is not."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec

import hudkit
from hudkit.cli import CliCommand
from hudkit.cli.checks import CHECKS, Check, Verdict, apply_fixes, examine, read_environment, report, worst
from hudkit.cli.common import SCHEMA, as_json
from hudkit.compose import visible
from hudkit.paths import project_config

CODES = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 2}

_DETAILS = """\
Exits with 0 if everything passes, 1 if there are warnings, 2 if something fails. It only reads, and sends nothing;
each check has a time limit. `--fix` does what is safe: it makes hudkit's own files and directories private, removes a
socket that nobody listens on, and replaces an older daemon; it says what it did and checks again. `--report` contains
no path of your home, no content of a session and no known form of a secret; read it before you send it."""


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely, then check again")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print facts as JSON")
    how.add_argument("--report", action="store_true", help="print a text for a bug report, without private data")


def _run(args: argparse.Namespace) -> int:
    directory = _directory()
    here = read_environment(directory, project_config(directory))
    mended = apply_fixes(here) if args.fix else ()
    checks = examine(CHECKS, here)
    verdict = worst(checks)
    if args.json:
        facts = {"schema": SCHEMA, "version": hudkit.__version__, "verdict": str(verdict)}
        print(as_json({**facts, "checks": msgspec.to_builtins(checks), "mended": list(mended)}))
    elif args.report:
        print("\n".join(visible(line) for line in report(checks, here, mended).splitlines()))
    else:
        print("\n".join(_lines(checks, mended)))
    return CODES[verdict]


COMMAND = CliCommand(
    example="hudkit doctor --fix",
    details=_DETAILS,
    exit_codes="exit codes: 0 everything passes, 1 there are warnings, 2 something fails",
    arguments=_arguments,
    run=_run,
)


def _lines(checks: tuple[Check, ...], mended: tuple[str, ...]) -> Iterator[str]:
    for line in mended:
        yield visible(f"DONE  {line}")
    wide = max(len(check.name) for check in checks)
    room = max(60, shutil.get_terminal_size((118, 24)).columns)
    for check in checks:
        yield visible(f"{check.verdict.upper()}  {check.name:<{wide}}  {check.words}")
        if check.hint:
            inset = " " * (wide + 8)
            yield from textwrap.wrap(
                visible(check.hint), room, initial_indent=inset, subsequent_indent=inset, break_long_words=False
            )
    count = {each: sum(check.verdict is each for check in checks) for each in Verdict}
    yield f"{count[Verdict.PASS]} pass, {count[Verdict.WARN]} warn, {count[Verdict.FAIL]} fail"


def _directory() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path("/")
