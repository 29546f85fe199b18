"""How many tests passed and failed, by the last words of a test runner."""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

_LINES = 200
_STATEMENTS = re.compile(r"&&|\|\||;|\n|\|")
_REDIRECTED = re.compile(r"\s+(?:\d?>>?\s*\S+|\d>&\d)")
_RUNS = re.compile(
    r"(?i)\b(?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|(?:npm|pnpm|yarn|bun|deno|cargo|go|make|just|mix|dotnet|swift"
    r"|node --|rake|gradlew|mvn)\s+(?:run |-\S+ )*(?:t|tests?|check|ci|nextest|verify)\b|node --test|playwright test|test\.sh|run[-_]?tests?\b)"
)


class Counts(msgspec.Struct, frozen=True):
    """A finished test run; an error outside a test counts as failed."""

    runner: str
    passed: int
    failed: int
    skipped: int = 0
    command: str = ""
    """The statement of the command that runs tests."""


def counts(command: str, output: str) -> Counts | None:
    """The counts of the test run that a shell command ended with, by its output; `None` where it runs no tests that
    are known, or shows no counts."""
    statement = next((one for one in reversed(_STATEMENTS.split(command)) if _RUNS.search(one)), None)
    found = None if statement is None else _read(output)
    return (
        None
        if found is None or statement is None
        else msgspec.structs.replace(found, command=_REDIRECTED.sub("", statement).strip())
    )


def _read(output: str) -> Counts | None:
    lines = [_ANSI.sub("", line).strip() for line in output.splitlines()[-_LINES:]]
    for read in (_pytest, _unittest, _cargo, _vitest, _jest, _go, _mocha, _tap, _playwright):
        found = read(lines)
        if found is not None:
            return found
    return None


_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = re.compile(r"(\d+) (passed|failed|skipped|errors?|todo|pending|xfailed|xpassed|deselected|warnings?)\b")
_PYTEST = re.compile(
    r"^=*\s*(?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun),? ?)+in \d"
)
_RAN = re.compile(r"^Ran (\d+) tests? in ")
_VERDICT = re.compile(r"^(OK|FAILED)(?: \((.*)\))?$")
_CARGO = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
_GO = re.compile(r"^\s*--- (PASS|FAIL|SKIP): ")
_MOCHA = re.compile(r"^(\d+) (passing|failing|pending)\b")
_PLAYED = re.compile(r"^(\d+) passed \([\d.]+m?s\)$")
_TAP = re.compile(r"^# (pass|fail|skipped|skip) +(\d+)$")


def _numbers(text: str) -> dict[str, int]:
    return {name.rstrip("s") if name.startswith("error") else name: int(n) for n, name in _NUMBERED.findall(text)}


def _last(lines: list[str], wanted: Callable[[str], object]) -> str | None:
    return next((line for line in reversed(lines) if wanted(line)), None)


def _pytest(lines: list[str]) -> Counts | None:
    line = _last(
        lines, lambda each: _PYTEST.search(each) and ("passed" in each or "failed" in each or "error" in each)
    )
    if line is None:
        return None
    told = _numbers(line)
    return Counts(
        "pytest", told.get("passed", 0), told.get("failed", 0) + told.get("error", 0), told.get("skipped", 0)
    )


def _unittest(lines: list[str]) -> Counts | None:
    ran = next((match for line in reversed(lines) if (match := _RAN.match(line))), None)
    verdict = next((match for line in reversed(lines) if (match := _VERDICT.match(line))), None)
    if ran is None or verdict is None:
        return None
    told = dict(part.split("=") for part in (verdict[2] or "").split(", ") if "=" in part)
    bad = sum(int(told.get(name, 0)) for name in ("failures", "errors", "unexpected successes"))
    skipped = int(told.get("skipped", 0))
    return Counts("unittest", max(int(ran[1]) - bad - skipped, 0), bad, skipped)


def _cargo(lines: list[str]) -> Counts | None:
    found = [match for line in lines if (match := _CARGO.match(line))]
    if not found:
        return None
    passed, failed, ignored = (sum(int(match[n]) for match in found) for n in (1, 2, 3))
    return Counts("cargo test", passed, failed, ignored)


def _vitest(lines: list[str]) -> Counts | None:
    line = _last(lines, lambda each: re.match(r"^Tests  +\d", each))
    return _javascript("vitest", line) if line else None


def _jest(lines: list[str]) -> Counts | None:
    line = _last(lines, lambda each: re.match(r"^Tests: +\d", each))
    return _javascript("jest", line) if line else None


def _javascript(runner: str, line: str) -> Counts:
    told = _numbers(line)
    return Counts(runner, told.get("passed", 0), told.get("failed", 0), told.get("skipped", 0))


def _go(lines: list[str]) -> Counts | None:
    """Only a verbose run names what passes; without `-v` there is nothing to count."""
    told = [match[1] for line in lines if (match := _GO.match(line))]
    if "PASS" not in told or not any(re.match(r"^(?:ok|FAIL)\s+\S+\s+\d", line) for line in lines):
        return None
    return Counts("go test", told.count("PASS"), told.count("FAIL"), told.count("SKIP"))


def _mocha(lines: list[str]) -> Counts | None:
    told = {match[2]: int(match[1]) for line in lines if (match := _MOCHA.match(line))}
    return (
        Counts("mocha", told["passing"], told.get("failing", 0), told.get("pending", 0))
        if "passing" in told
        else None
    )


def _tap(lines: list[str]) -> Counts | None:
    told = {match[1]: int(match[2]) for line in lines if (match := _TAP.match(line))}
    if "pass" not in told or "fail" not in told:
        return None
    return Counts("node --test", told["pass"], told["fail"], told.get("skipped", told.get("skip", 0)))


def _playwright(lines: list[str]) -> Counts | None:
    passed = next((match for line in reversed(lines) if (match := _PLAYED.match(line))), None)
    if passed is None:
        return None
    told = {match[2]: int(match[1]) for line in lines if (match := re.match(r"^(\d+) (failed|skipped|flaky)$", line))}
    return Counts("playwright", int(passed[1]), told.get("failed", 0), told.get("skipped", 0))
