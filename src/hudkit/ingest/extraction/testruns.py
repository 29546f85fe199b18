"""How many tests passed and failed, by the last words of a test runner."""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re

import msgspec

_LINES = 200
_STATEMENTS = re.compile(r"&&|\|\||;|\n|\|")
_REDIRECTED = re.compile(r"\s+(?:\d?>>?\s*\S+|\d>&\d)")
_RUNS = re.compile(
    r"(?i)(?:^|[\s/_.:'\"(-])(?:\w+test|tests?|t|check|ci|spec|specs|rspec|jest|vitest|mocha|ava|karma|busted|pg_prove|prove|bats|tox|nox|nextest|verify|gotestsum|hspec|\w*unit|testthat|runtests?|tasty|unittest|pytest"
    r"|playwright|cypress|behave|cucumber|minitest|build)(?![\w/])"
)
_SHOWS = re.compile(
    r"^(?:\w+=\S+\s+)*(?:sudo\s+)?(?:cat|less|more|head|tail|grep|egrep|rg|ag|sed|awk|ls|find|git|echo|printf|vim?|nano|diff|wc|cp|mv|rm|mkdir|touch|cd|curl|wget|docker (?:logs|ps)|kubectl (?:logs|get)|gh|tee|test|\[)\b(?!\S*\.sh)"
)
"""Programs that only show what others printed."""


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
    statement = next((one for one in reversed(_STATEMENTS.split(command)) if _tests(one)), None)
    found = None if statement is None else _read(output)
    return (
        None
        if found is None or statement is None
        else msgspec.structs.replace(found, command=_REDIRECTED.sub("", statement).strip())
    )


def _tests(statement: str) -> bool:
    return bool(_RUNS.search(statement)) and not _SHOWS.match(statement.strip())


def _read(output: str) -> Counts | None:
    lines = [_ANSI.sub("", line).strip() for line in output.splitlines()[-_LINES:]]
    return next((found for runner in RUNNERS if (found := _told(runner, lines))), None)


def _told(runner: Runner, lines: list[str]) -> Counts | None:
    """What the lines of a runner say, the last one or all of them together; `None` where none is this runner's."""
    found: dict[str, int] = {}
    matches = [match for line in lines if len(line) <= _WIDEST and (match := runner.line.search(line))]
    for match in matches if runner.every else matches[-1:]:
        for name, value in match.groupdict().items():
            if value is not None:
                found[name] = found.get(name, 0) + (1 if runner.counted else int(value))
        for number, name in _NUMBERED.findall(match[0]) if runner.numbered else ():
            kind = _KINDS.get(name.casefold())
            if kind:
                found[kind] = found.get(kind, 0) + int(number)
    failed, skipped = (
        found.get("failed", 0) + found.get("error", 0),
        found.get("skipped", 0) + found.get("skipped2", 0),
    )
    if not matches or (runner.confirmed and not any(runner.confirmed.search(line) for line in lines)):
        return None
    passed = found.get("passed", found["total"] - failed - skipped if "total" in found else 0)
    if runner.whole and not {"passed", "total"} & found.keys():
        return None
    return Counts(runner.name, max(passed, 0), failed, skipped) if passed or failed or skipped else None


class Runner(msgspec.Struct, frozen=True):
    """How a runner tells its counts: lines with the groups `passed`, `failed`, `error`, `skipped` or `total`."""

    name: str
    line: re.Pattern[str]
    numbered: bool = False
    """The line is read as numbers with words: "1 failed, 2 passed"."""
    every: bool = False
    """All lines count together, not the last only."""
    counted: bool = False
    """Each line is one test."""
    whole: bool = False
    """Without a number of passed tests, or of all, it tells nothing."""
    confirmed: re.Pattern[str] | None = None
    """A line that must be there as well."""


_WIDEST = 400
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = re.compile(
    r"(?i)(\d+) (passed|failed|skipped|errors?|todo|pending|failures?|ignored|passing|failing|disabled|omitted|pendings)\b"
)
_KINDS = {
    "passed": "passed", "passing": "passed", "failed": "failed", "failing": "failed", "failure": "failed", "failures": "failed",
    "error": "error", "errors": "error", "skipped": "skipped", "pending": "skipped", "ignored": "skipped",
}  # fmt: skip


def _runner(name: str, line: str, *options: str, confirmed: str = "") -> Runner:
    chosen = dict.fromkeys(options, True)
    return Runner(name, re.compile(line), confirmed=re.compile(confirmed) if confirmed else None, **chosen)


RUNNERS: tuple[Runner, ...] = (
    _runner(
        "pytest",
        r"^=*\s*(?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun),? ?)*\d+ (?:passed|failed|errors?)(?:, \d+ \w+)* in \d",
        "numbered",
    ),
    _runner(
        "unittest",
        r"^Ran (?P<total>\d+) tests? in |^FAILED \((?=.*(?:failures|errors))(?:failures=(?P<failed>\d+))?(?:, )?(?:errors=(?P<error>\d+))?(?:, )?(?:skipped=(?P<skipped>\d+))?|^OK \(.*?skipped=(?P<skipped2>\d+)",
        "every",
        confirmed=r"^(?:OK|FAILED)(?: \(|$)",
    ),
    _runner(
        "cargo test",
        r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        "every",
    ),
    _runner(
        "nextest",
        r"^Summary \[.*\] +(?P<total>\d+) tests? run: (?P<passed>\d+) passed(?:[^,]*)(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?",
    ),
    _runner("vitest", r"^Tests  +\d.*", "numbered"),
    _runner("jest", r"^Tests: +\d+ (?:passed|failed|skipped|todo|pending).*", "numbered"),
    _runner(
        "dotnet test",
        r"^(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +(?P<skipped>\d+)",
        "every",
    ),
    _runner(
        "dotnet test",
        r"^Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)",
    ),
    _runner(
        "dotnet test",
        r"^(?:Total tests: (?P<total>\d+)|Failed: (?P<failed>\d+)|Skipped: (?P<skipped>\d+))$",
        "every",
        "whole",
    ),
    _runner(
        "maven",
        r"^(?:\[\w+\] *)?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<error>\d+), Skipped: (?P<skipped>\d+)(?!.*(?:Time elapsed|-- in|- in ))",
    ),
    _runner("gradle", r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?"),
    _runner(
        "phpunit",
        r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<error>\d+))?(?:, Failures: (?P<failed>\d+))?(?:,.*?Skipped: (?P<skipped>\d+))?",
    ),
    _runner("phpunit", r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)"),
    _runner("rspec", r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"),
    _runner(
        "minitest",
        r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<error>\d+) errors(?:.*?, (?P<skipped>\d+) skips)?",
    ),
    _runner(
        "mix test",
        r"^(?:\d+ doctests?, )?(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, \d+ excluded)?(?:, (?P<skipped>\d+) skipped)?$",
    ),
    _runner("ctest", r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
    _runner(
        "swift test", r"Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?(?P<failed>\d+) failures?"
    ),
    _runner(
        "flutter test",
        r"^\d\d:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: (?:All tests passed|Some tests failed)",
    ),
    _runner(
        "deno test",
        r"^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \([^)]*\))? \| (?P<failed>\d+) failed(?: \| (?P<skipped>\d+) ignored)?",
    ),
    _runner("bun test", r"^(?:(?P<passed>\d+) pass|(?P<failed>\d+) fail|(?P<skipped>\d+) skip)$", "every", "whole"),
    _runner(
        "gotestsum", r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"
    ),
    _runner(
        "sbt test",
        r"Passed: Total (?P<total>\d+), Failed (?P<failed>\d+), Errors (?P<error>\d+), Passed (?P<passed>\d+)",
    ),
    _runner(
        "sbt test",
        r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled \d+, ignored (?P<skipped>\d+)",
    ),
    _runner("testthat", r"^\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]"),
    _runner("busted", r"^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<error>\d+) errors?"),
    _runner("zig test", r"^(?P<passed>\d+) passed; (?P<skipped>\d+) skipped; (?P<failed>\d+) failed"),
    _runner("gtest", r"^\[  (?:PASSED  \] (?P<passed>\d+)|FAILED  \] (?P<failed>\d+)) tests?[.,]", "every"),
    _runner(
        "catch2",
        r"^test cases: +(?P<total>\d+) \| +(?:(?P<passed>\d+) passed)?(?: \| )? *(?:(?P<failed>\d+) failed)?",
    ),
    _runner("catch2", r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)"),
    _runner(
        "karma",
        r"Executed \d+ of (?P<total>\d+) +(?:\((?P<failed>\d+) FAILED\)|SUCCESS|\(skipped (?P<skipped>\d+)\))",
    ),
    _runner(
        "go test",
        r"^--- (?:(?P<passed>PASS)|(?P<failed>FAIL)|(?P<skipped>SKIP)): ",
        "every",
        "counted",
        "whole",
        confirmed=r"^(?:ok|FAIL)\s+\S+\s+[\d(]",
    ),
    _runner(
        "mocha", r"^(?:(?P<passed>\d+) passing|(?P<failed>\d+) failing|(?P<skipped>\d+) pending)\b", "every", "whole"
    ),
    _runner(
        "node --test", r"^# (?:pass (?P<passed>\d+)|fail (?P<failed>\d+)|skipped (?P<skipped>\d+))$", "every", "whole"
    ),
    _runner(
        "node --test", r"^ℹ (?:pass (?P<passed>\d+)|fail (?P<failed>\d+)|skipped (?P<skipped>\d+))$", "every", "whole"
    ),
    _runner(
        "playwright",
        r"^(?:(?P<passed>\d+) passed \([\d.]+m?s\)|(?P<failed>\d+) failed|(?P<skipped>\d+) skipped)$",
        "every",
        "whole",
    ),
    _runner(
        "dbt test", r"^(?:\S+ +)?Done\. PASS=(?P<passed>\d+) WARN=\d+ ERROR=(?P<failed>\d+) SKIP=(?P<skipped>\d+)"
    ),
    _runner(
        "julia",
        r"^ERROR: Some tests did not pass: (?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<error>\d+) errored",
    ),
    _runner("bats", r"^(?P<total>\d+) tests?, (?P<failed>\d+) failures?"),
    _runner("prove", r"^Files=\d+, Tests=(?P<passed>\d+), ", confirmed=r"^Result: PASS"),
    _runner("prove", r"Failed (?P<failed>\d+)/(?P<total>\d+) subtests", "every", confirmed=r"^Result: FAIL"),
    _runner("tap", r"^(?:(?P<failed>not ok)|(?P<passed>ok)) \d+\b", "every", "counted", confirmed=r"^\d+\.\.\d+|^# "),
)
"""Known runners, by their last words; the first that fits counts."""
