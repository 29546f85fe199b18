"""`hudkit doctor`: a line for each thing that has to be in place, and what to do where it is not."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from pathlib import Path

import msgspec

import hudkit
from hudkit.cli.checks import CHECKS, Check, Verdict, apply_fixes, examine, read_environment, report, worst
from hudkit.cli.common import SCHEMA, as_json
from hudkit.cli.styles import DOCTOR_STYLES, on_terminal, output_columns, print_lines
from hudkit.compose import visible
from hudkit.paths import project_config

CODES = {Verdict.PASS: 0, Verdict.WARN: 1, Verdict.FAIL: 2}


def run(args: argparse.Namespace) -> int:
    """Carry the command out and return its exit code."""
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
        print_lines(_lines(checks, mended), DOCTOR_STYLES)
    return CODES[verdict]


def _lines(checks: tuple[Check, ...], mended: tuple[str, ...]) -> Iterator[str]:
    for line in mended:
        word = "LEFT" if line.startswith("left ") else "DONE"
        yield visible(f"{word}  {line}")
    wide = max(len(check.name) for check in checks)
    room = max(60, output_columns(shutil.get_terminal_size((118, 24)).columns))
    inset = " " * (wide + 8)
    for check in checks:
        line = visible(f"{check.verdict.upper()}  {check.name:<{wide}}  {check.words}")
        # for a person long lines go on below their words; for a program a check is one line
        yield from _below(line, inset, room) if on_terminal() else (line,)
        if check.hint:
            yield from _below(inset + visible(check.hint), inset, room)
    count = {each: sum(check.verdict is each for check in checks) for each in Verdict}
    yield f"{count[Verdict.PASS]} pass, {count[Verdict.WARN]} warn, {count[Verdict.FAIL]} fail"


def _below(line: str, inset: str, room: int) -> list[str]:
    """A line, broken between words; what does not fit goes on behind the inset."""
    start, words = line[: len(inset)], line[len(inset) :]
    rest = textwrap.wrap(words, room - len(inset), break_long_words=False, break_on_hyphens=False)
    return [(inset if number else start) + part for number, part in enumerate(rest or [""])]


def _directory() -> Path:
    try:
        return Path.cwd()
    except OSError:  # it was removed
        return Path("/")
