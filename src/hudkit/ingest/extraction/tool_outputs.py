"""What outputs and files of the work say: counts of test runs, commits, points of plan files. Found by patterns.

A test run is read in three steps. The command must run tests and not only show what others printed (`cat test.log`).
The last lines of the output are compared with the runners of the table, and the first runner that has a line there
counts. Its groups `passed`, `failed`, `error`, `skipped` and `total` are added up; where only a total is printed, what
passed is the rest of it. For example, `python -m unittest 2>&1 | tail -4` with

    Ran 6 tests in 0.03s

    FAILED (failures=1, errors=1)

is `TestsRan("python -m unittest", passed=4, failed=2, runner="unittest")`: an error outside a test counts as failed.
"""

# ruff: noqa: E501 (a table of patterns is read by its rows)
from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import msgspec

from hudkit.ingest.extraction.caseless import any_case
from hudkit.log.payloads import CommitMade, PlanPoint, TestsRan

_MAX_POINTS = 200
"""Points of one plan that are followed: a longer list is a document."""

_MAX_POINT = 200
_LAST_LINES = 200
_MAX_LINE = 400  # a longer line is data, and patterns with two gaps take long on it

# -- test runs -------------------------------------------------------------------------------------------------

_STATEMENTS = re.compile(r"&&|\|\||;|\n|\|")
_REDIRECTED = re.compile(r"(?<!\s)\s+(?:\d?>>?\s*\S+|\d>&\d)")
_RUNS = any_case(
    r"(?:^|[\s/_.:'\"(-])(?:\w{1,60}test|tests?|t|check|ci|spec|specs|rspec|jest|vitest|mocha|ava|karma|busted|pg_prove|prove|bats|tox|nox|nextest|verify|gotestsum|hspec|\w{0,60}unit|testthat|runtests?|tasty|unittest|pytest"
    r"|playwright|cypress|behave|cucumber|minitest|build)(?![\w/])"
)
_SHOWS = re.compile(
    r"^(?:\w+=\S+\s+)*(?:sudo\s+)?(?:cat|less|more|head|tail|grep|egrep|rg|ag|sed|awk|ls|find|git|echo|printf|vim?|nano|diff|wc|cp|mv|rm|mkdir|touch|cd|curl|wget|docker (?:logs|ps)|kubectl (?:logs|get)|gh|tee|test|\[)\b(?!\S*\.sh)"
)
"""Programs that only show what others printed."""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = any_case(
    r"(?<!\d)(\d+) (passed|failed|skipped|errors?|todo|pending|failures?|ignored|passing|failing|disabled|omitted|pendings)\b"
)
_KINDS = {
    "passed": "passed", "passing": "passed", "failed": "failed", "failing": "failed", "failure": "failed", "failures": "failed",
    "error": "error", "errors": "error", "skipped": "skipped", "pending": "skipped", "ignored": "skipped",
}  # fmt: skip


class _RunnerRow(msgspec.Struct, frozen=True):
    """How a runner prints its counts: lines with the groups `passed`, `failed`, `error`, `skipped` or `total`."""

    name: str
    line: str
    numbered: bool = False
    """The line is read as numbers with words: "1 failed, 2 passed"."""
    all_lines: bool = False
    """All lines count together, not the last only."""
    one_each: bool = False
    """Each line is one test."""
    needs_passed: bool = False
    """Without a number of passed tests, or of all, it says nothing."""
    confirmed_by: str = ""
    """A line that must be there as well, where the words of the first also stand in other output."""


def count_tests(command: str, output: str) -> TestsRan | None:
    """Return the counts of the test run that a shell command ended with, by its output.

    `None` where the command runs no tests that are known, or shows no counts.
    """
    statement = next((part for part in reversed(_STATEMENTS.split(command)) if _runs_tests(part)), None)
    if statement is None:
        return None
    lines = [_ANSI.sub("", line).strip() for line in output.splitlines()[-_LAST_LINES:]]
    command = _REDIRECTED.sub("", statement).strip()
    for runner in _RUNNERS:
        counts = _runner_counts(runner, lines)
        if counts is not None:
            passed, failed, skipped = counts
            return TestsRan(command, passed, failed, skipped, runner.name)
    return None


def _runs_tests(statement: str) -> bool:
    return bool(_RUNS.search(statement)) and not _SHOWS.match(statement.strip())


def _runner_counts(runner: _RunnerRow, lines: Sequence[str]) -> tuple[int, int, int] | None:
    """Tests that passed, failed and were skipped; `None` where the lines are not this runner's."""
    pattern = _compiled(runner.line)
    matches = [match for line in lines if len(line) <= _MAX_LINE and (match := pattern.search(line))]
    if not matches:
        return None
    if runner.confirmed_by and not any(map(_compiled(runner.confirmed_by).search, lines)):
        return None
    counts = _added_up(runner, matches if runner.all_lines else matches[-1:])
    if runner.needs_passed and not {"passed", "total"} & counts.keys():
        return None
    failed = counts.get("failed", 0) + counts.get("error", 0)
    skipped = counts.get("skipped", 0) + counts.get("skipped2", 0)
    rest = counts["total"] - failed - skipped if "total" in counts else 0
    passed = counts.get("passed", rest)
    return (max(passed, 0), failed, skipped) if passed or failed or skipped else None


def _added_up(runner: _RunnerRow, matches: Sequence[re.Match[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for match in matches:
        for name, value in match.groupdict().items():
            if value is not None:
                counts[name] = counts.get(name, 0) + (1 if runner.one_each else int(value))
        for number, word in _NUMBERED.findall(match[0]) if runner.numbered else ():
            kind = _KINDS.get(word.casefold())
            if kind:
                counts[kind] = counts.get(kind, 0) + int(number)
    return counts


@cache  # compiled when a first test run is read, not when the package is imported
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# -- commits ---------------------------------------------------------------------------------------------------

_MAKES_COMMITS = re.compile(r"\bgit\b[^|;&\n]*\b(?:commit|cherry-pick|revert|merge|rebase|am)\b")
_COMMIT_LINE = re.compile(r"(?m)^\[([^\]\n]+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$")
_LOG_LINE = re.compile(r"(?m)^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*)$")


def find_commits(command: str, output: str) -> tuple[CommitMade, ...]:
    """Return the commits that a shell command made, as git reports them: hash, subject, and the branch if any.

    A quiet commit is found in the log that the same command shows: there, the subject is the one that it gave.
    """
    if not _MAKES_COMMITS.search(command):
        return ()
    commits = []
    for branch, sha, subject in _COMMIT_LINE.findall(output):
        detached = branch.startswith("detached")
        commits.append(CommitMade(sha, subject.strip(), "" if detached else branch))
    if commits:
        return tuple(commits)
    logged = ((sha, subject.strip()) for sha, subject in _LOG_LINE.findall(output))
    quiet = (CommitMade(sha, subject) for sha, subject in logged if len(subject) > 2 and subject in command)
    return tuple(quiet)[:1]  # lines further down are older commits


# -- plan files ------------------------------------------------------------------------------------------------

_PLAN_NAME = any_case(
    r"(?:^|/)(?:(?:[\w-]*[-_])?(?:plan|todos?|tasks?|roadmap|checklist)\.(?:md|markdown|txt|org)|plans?/[^/]+\.(?:md|markdown))$"
)
_PLAN_POINT = re.compile(r"(?m)^[ \t]*(?:\d+[|:][ \t]*)?(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t]*$")


def is_plan_file(path: str) -> bool:
    """Return whether a file of this name is a plan."""
    return bool(_PLAN_NAME.search(path))


def plan_points(text: str) -> tuple[PlanPoint, ...]:
    """Return the points of a plan that have a box to tick, in order, each text once; the last box of a text counts."""
    done_by_text = {text: mark != " " for mark, text in _PLAN_POINT.findall(text)}
    return tuple(PlanPoint(text[:_MAX_POINT], done) for text, done in list(done_by_text.items())[:_MAX_POINTS])


def update_points(points: Sequence[PlanPoint], old: str, new: str) -> tuple[PlanPoint, ...]:
    """Return the points of a plan after the text `old` in it was replaced by `new`; new ones stand at the end."""
    before, after = plan_points(old), plan_points(new)
    removed = {point.text for point in before} - {point.text for point in after}
    done_by_text = {point.text: point.done for point in after}
    left = [point for point in points if point.text not in removed]
    # `pop` leaves the points that are new
    updated = [PlanPoint(point.text, done_by_text.pop(point.text, point.done)) for point in left]
    updated += [PlanPoint(text, done) for text, done in done_by_text.items()]
    return tuple(updated[:_MAX_POINTS])


# -- the table of runners --------------------------------------------------------------------------------------


def _row(name: str, line: str, *options: str, confirmed_by: str = "") -> _RunnerRow:
    return _RunnerRow(name, line, confirmed_by=confirmed_by, **dict.fromkeys(options, True))


_RUNNERS: tuple[_RunnerRow, ...] = (
    _row(
        "pytest",
        r"^=*\s*(?:\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|warnings?|rerun),? ?)*\d+ (?:passed|failed|errors?)(?:, \d+ \w+)* in \d",
        "numbered",
    ),
    _row(
        "unittest",
        r"^Ran (?P<total>\d+) tests? in |^FAILED \((?=.*(?:failures|errors))(?:failures=(?P<failed>\d+))?(?:, )?(?:errors=(?P<error>\d+))?(?:, )?(?:skipped=(?P<skipped>\d+))?|^OK \(.*?skipped=(?P<skipped2>\d+)",
        "all_lines",
        confirmed_by=r"^(?:OK|FAILED)(?: \(|$)",
    ),
    _row(
        "cargo test",
        r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored",
        "all_lines",
    ),
    _row(
        "nextest",
        r"^Summary \[.*\] +(?P<total>\d+) tests? run: (?P<passed>\d+) passed(?:[^,]*)(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?",
    ),
    _row("vitest", r"^Tests  +\d.*", "numbered"),
    _row("jest", r"^Tests: +\d+ (?:passed|failed|skipped|todo|pending).*", "numbered"),
    _row(
        "dotnet test",
        r"^(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+), Skipped: +(?P<skipped>\d+)",
        "all_lines",
    ),
    _row(
        "dotnet test",
        r"^Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+), succeeded: (?P<passed>\d+), skipped: (?P<skipped>\d+)",
    ),
    _row(
        "dotnet test",
        r"^(?:Total tests: (?P<total>\d+)|Failed: (?P<failed>\d+)|Skipped: (?P<skipped>\d+))$",
        "all_lines",
        "needs_passed",
    ),
    _row(
        "maven",
        r"^(?:\[\w+\] *)?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<error>\d+), Skipped: (?P<skipped>\d+)(?!.*(?:Time elapsed|-- in|- in ))",
    ),
    _row("gradle", r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed(?:, (?P<skipped>\d+) skipped)?"),
    _row(
        "phpunit",
        r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<error>\d+))?(?:, Failures: (?P<failed>\d+))?(?:,.*?Skipped: (?P<skipped>\d+))?",
    ),
    _row("phpunit", r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)"),
    _row("rspec", r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<skipped>\d+) pending)?"),
    _row(
        "minitest",
        r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<error>\d+) errors(?:.*?, (?P<skipped>\d+) skips)?",
    ),
    _row(
        "mix test",
        r"^(?:\d+ doctests?, )?(?P<total>\d+) tests?, (?P<failed>\d+) failures?(?:, \d+ excluded)?(?:, (?P<skipped>\d+) skipped)?$",
    ),
    _row("ctest", r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
    _row("swift test", r"Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?(?P<failed>\d+) failures?"),
    _row(
        "flutter test",
        r"^\d\d:\d\d \+(?P<passed>\d+)(?: ~(?P<skipped>\d+))?(?: -(?P<failed>\d+))?: (?:All tests passed|Some tests failed)",
    ),
    _row(
        "deno test",
        r"^(?:ok|FAILED) \| (?P<passed>\d+) passed(?: \([^)]*\))? \| (?P<failed>\d+) failed(?: \| (?P<skipped>\d+) ignored)?",
    ),
    _row(
        "bun test",
        r"^(?:(?P<passed>\d+) pass|(?P<failed>\d+) fail|(?P<skipped>\d+) skip)$",
        "all_lines",
        "needs_passed",
    ),
    _row("gotestsum", r"^DONE (?P<total>\d+) tests?(?:, (?P<skipped>\d+) skipped)?(?:, (?P<failed>\d+) failures?)?"),
    _row(
        "sbt test",
        r"Passed: Total (?P<total>\d+), Failed (?P<failed>\d+), Errors (?P<error>\d+), Passed (?P<passed>\d+)",
    ),
    _row(
        "sbt test",
        r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+), canceled \d+, ignored (?P<skipped>\d+)",
    ),
    _row("testthat", r"^\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP (?P<skipped>\d+) \| PASS (?P<passed>\d+) \]"),
    _row("busted", r"^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / (?P<error>\d+) errors?"),
    _row("zig test", r"^(?P<passed>\d+) passed; (?P<skipped>\d+) skipped; (?P<failed>\d+) failed"),
    _row("gtest", r"^\[  (?:PASSED  \] (?P<passed>\d+)|FAILED  \] (?P<failed>\d+)) tests?[.,]", "all_lines"),
    _row(
        "catch2",
        r"^test cases: +(?P<total>\d+) \| +(?:(?P<passed>\d+) passed)?(?: \| )? *(?:(?P<failed>\d+) failed)?",
    ),
    _row("catch2", r"^All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)"),
    _row(
        "karma",
        r"Executed \d+ of (?P<total>\d+) +(?:\((?P<failed>\d+) FAILED\)|SUCCESS|\(skipped (?P<skipped>\d+)\))",
    ),
    _row(
        "go test",
        r"^--- (?:(?P<passed>PASS)|(?P<failed>FAIL)|(?P<skipped>SKIP)): ",
        "all_lines",
        "one_each",
        "needs_passed",
        confirmed_by=r"^(?:ok|FAIL)\s+\S+\s+[\d(]",
    ),
    _row(
        "mocha",
        r"^(?:(?P<passed>\d+) passing|(?P<failed>\d+) failing|(?P<skipped>\d+) pending)\b",
        "all_lines",
        "needs_passed",
    ),
    _row(
        "node --test",
        r"^# (?:pass (?P<passed>\d+)|fail (?P<failed>\d+)|skipped (?P<skipped>\d+))$",
        "all_lines",
        "needs_passed",
    ),
    _row(
        "node --test",
        r"^ℹ (?:pass (?P<passed>\d+)|fail (?P<failed>\d+)|skipped (?P<skipped>\d+))$",
        "all_lines",
        "needs_passed",
    ),
    _row(
        "playwright",
        r"^(?:(?P<passed>\d+) passed \([\d.]+m?s\)|(?P<failed>\d+) failed|(?P<skipped>\d+) skipped)$",
        "all_lines",
        "needs_passed",
    ),
    _row("dbt test", r"^(?:\S+ +)?Done\. PASS=(?P<passed>\d+) WARN=\d+ ERROR=(?P<failed>\d+) SKIP=(?P<skipped>\d+)"),
    _row(
        "julia",
        r"^ERROR: Some tests did not pass: (?P<passed>\d+) passed, (?P<failed>\d+) failed, (?P<error>\d+) errored",
    ),
    _row("bats", r"^(?P<total>\d+) tests?, (?P<failed>\d+) failures?"),
    _row("prove", r"^Files=\d+, Tests=(?P<passed>\d+), ", confirmed_by=r"^Result: PASS"),
    _row("prove", r"Failed (?P<failed>\d+)/(?P<total>\d+) subtests", "all_lines", confirmed_by=r"^Result: FAIL"),
    _row(
        "tap",
        r"^(?:(?P<failed>not ok)|(?P<passed>ok)) \d+\b",
        "all_lines",
        "one_each",
        confirmed_by=r"^\d+\.\.\d+|^# ",
    ),
)
"""Known runners, by their last words. The first that fits counts, so that a format that is part of another's (`tap`,
whose lines many runners print) stands below it."""
