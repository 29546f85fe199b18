"""What a check says, and how one is made: never longer than its limit, never with an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from threading import Thread

import msgspec

from hudkit.cli.checks.environment import CheckEnvironment


class Verdict(StrEnum):
    """From best to worst."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"


class Check(msgspec.Struct, frozen=True):
    """What was looked at, how it is, in words, and where something is to be done, what."""

    name: str
    verdict: Verdict
    words: str
    hint: str = ""


class Diagnosis(msgspec.Struct, frozen=True):
    """What a look at one thing found; a `Check` without its name."""

    verdict: Verdict
    words: str
    hint: str = ""


class CheckRow(msgspec.Struct, frozen=True):
    """A row of the table of checks: `seconds` is its limit."""

    name: str
    look: Callable[[CheckEnvironment], Diagnosis]
    seconds: float = 10.0


def good(words: str, hint: str = "") -> Diagnosis:
    """Return a diagnosis that nothing is wrong; `words` say what was looked at."""
    return Diagnosis(Verdict.PASS, words, hint)


def warn(words: str, hint: str = "") -> Diagnosis:
    """Return a diagnosis that something should be mended, though hudkit works; `hint` says how."""
    return Diagnosis(Verdict.WARN, words, hint)


def fail(words: str, hint: str = "") -> Diagnosis:
    """Return a diagnosis that something is broken; `hint` says how to mend it."""
    return Diagnosis(Verdict.FAIL, words, hint)


def gravest(findings: Iterable[Diagnosis], otherwise: str) -> Diagnosis:
    """Join several findings and return them as one: the worst verdict, words and hints of what is not good.

    Where all are good, the words are `otherwise`.
    """
    odd = [finding for finding in findings if finding.verdict is not Verdict.PASS]
    if not odd:
        return good(otherwise)
    hints = dict.fromkeys(finding.hint for finding in odd if finding.hint)
    return Diagnosis(
        _worst(finding.verdict for finding in odd), "; ".join(finding.words for finding in odd), "; ".join(hints)
    )


def examine(rows: Iterable[CheckRow], here: CheckEnvironment) -> tuple[Check, ...]:
    """Run every check of a table and return the results in its order. Never raises; each takes at most its limit."""
    return tuple(_run_check(row, here) for row in rows)


def worst(checks: Iterable[Check]) -> Verdict:
    """Return the worst verdict of some checks; `PASS` without any."""
    return _worst(check.verdict for check in checks)


def _worst(verdicts: Iterable[Verdict]) -> Verdict:
    return max(verdicts, key=list(Verdict).index, default=Verdict.PASS)


def _run_check(row: CheckRow, here: CheckEnvironment) -> Check:
    """A check in a thread of its own: what hangs in a file system is left there, and ends with the process."""
    findings: list[Diagnosis] = []

    def look() -> None:
        try:
            findings.append(row.look(here))
        except Exception as error:  # whatever it is, the other checks are still of use
            findings.append(warn(f"could not be looked at: {_error_text(error)}"))

    thread = Thread(target=look, daemon=True, name=f"doctor {row.name}")
    thread.start()
    thread.join(row.seconds)
    finding = findings[0] if findings else warn(f"did not come to an end within {row.seconds:g} s")
    return Check(row.name, finding.verdict, finding.words, finding.hint)


def _error_text(error: Exception) -> str:
    words = str(error).strip().replace("\n", " ")[:300]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
