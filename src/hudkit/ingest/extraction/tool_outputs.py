"""How many tests passed and failed, by the last words of a test runner."""

from __future__ import annotations

import re

import msgspec

# ruff: noqa: E501 (a table of patterns is read by its rows)


_LAST_LINES = 200
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


class RunCounts(msgspec.Struct, frozen=True):
    """A finished test run; an error outside a test counts as failed."""

    runner: str
    passed: int
    failed: int
    skipped: int = 0
    command: str = ""
    """The statement of the command that runs tests."""


def count_tests(command: str, output: str) -> RunCounts | None:
    """The counts of the test run that a shell command ended with, by its output; `None` where it runs no tests that
    are known, or shows no counts."""
    statement = next((one for one in reversed(_STATEMENTS.split(command)) if _runs_tests(one)), None)
    found = None if statement is None else _counts_of(output)
    return (
        None
        if found is None or statement is None
        else msgspec.structs.replace(found, command=_REDIRECTED.sub("", statement).strip())
    )


def _runs_tests(statement: str) -> bool:
    return bool(_RUNS.search(statement)) and not _SHOWS.match(statement.strip())


def _counts_of(output: str) -> RunCounts | None:
    lines = [_ANSI.sub("", line).strip() for line in output.splitlines()[-_LAST_LINES:]]
    return next((found for runner in RUNNER_FORMATS if (found := _runner_counts(runner, lines))), None)


def _runner_counts(runner: RunnerFormat, lines: list[str]) -> RunCounts | None:
    """What the lines of a runner say, the last one or all of them together; `None` where none is this runner's."""
    found: dict[str, int] = {}
    matches = [match for line in lines if len(line) <= _MAX_LINE and (match := runner.line.search(line))]
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
    return RunCounts(runner.name, max(passed, 0), failed, skipped) if passed or failed or skipped else None


class RunnerFormat(msgspec.Struct, frozen=True):
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


_MAX_LINE = 400
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NUMBERED = re.compile(
    r"(?i)(\d+) (passed|failed|skipped|errors?|todo|pending|failures?|ignored|passing|failing|disabled|omitted|pendings)\b"
)
_KINDS = {
    "passed": "passed", "passing": "passed", "failed": "failed", "failing": "failed", "failure": "failed", "failures": "failed",
    "error": "error", "errors": "error", "skipped": "skipped", "pending": "skipped", "ignored": "skipped",
}  # fmt: skip


def _runner(name: str, line: str, *options: str, confirmed: str = "") -> RunnerFormat:
    chosen = dict.fromkeys(options, True)
    return RunnerFormat(name, re.compile(line), confirmed=re.compile(confirmed) if confirmed else None, **chosen)


RUNNER_FORMATS: tuple[RunnerFormat, ...] = (
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


# --- Commits, by what git says of them.


_MAKES_COMMITS = re.compile(r"\bgit\b[^|;&\n]*\b(?:commit|cherry-pick|revert|merge|rebase|am)\b")
_COMMIT_LINE = re.compile(r"(?m)^\[([^\]\n]+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$")
_LOG_LINE = re.compile(r"(?m)^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*)$")


class FoundCommit(msgspec.Struct, frozen=True):
    """One commit: its short hash, its subject, and the branch where git tells it."""

    sha: str
    subject: str
    branch: str = ""


def find_commits(command: str, output: str) -> tuple[FoundCommit, ...]:
    """The commits that a shell command made, by its output; a quiet one where a log is shown behind it."""
    if not _MAKES_COMMITS.search(command):
        return ()
    found = tuple(
        FoundCommit(sha, subject.strip(), "" if branch.startswith("detached") else branch)
        for branch, sha, subject in _COMMIT_LINE.findall(output)
    )
    if not found:  # said quietly: the log behind it has the subject that the command gave
        logged = ((sha, subject.strip()) for sha, subject in _LOG_LINE.findall(output))
        found = tuple(
            FoundCommit(sha, subject) for sha, subject in logged if len(subject) > 2 and subject in command
        )[:1]
    return found


# --- Plan files: which files are plans, their points, and which of them an edit ticked.


_PLAN_NAME = re.compile(
    r"(?i)(?:^|/)(?:(?:[\w-]*[-_])?(?:plan|todos?|tasks?|roadmap|checklist)\.(?:md|markdown|txt|org)|plans?/[^/]+\.(?:md|markdown))$"
)
_PLAN_POINT = re.compile(r"(?m)^[ \t]*(?:\d+[|:][ \t]*)?(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)[ \t]*$")

MAX_PLAN_POINTS = 200
"""Points of one plan that are followed."""


class FoundPoint(msgspec.Struct, frozen=True):
    """One point of a plan and whether it is ticked."""

    text: str
    done: bool


def is_plan_file(path: str) -> bool:
    """Whether a file of this name is a plan."""
    return bool(_PLAN_NAME.search(path))


def plan_points(text: str) -> tuple[FoundPoint, ...]:
    """The points with a box to tick, in order, each text once."""
    found = {text: mark != " " for mark, text in _PLAN_POINT.findall(text)}
    return tuple(FoundPoint(text[:200], done) for text, done in list(found.items())[:MAX_PLAN_POINTS])


def update_points(known: tuple[FoundPoint, ...], old: str, new: str) -> tuple[FoundPoint, ...]:
    """The points of a plan after a part of it was replaced."""
    before, after = plan_points(old), plan_points(new)
    gone = {point.text for point in before} - {point.text for point in after}
    told = {point.text: point.done for point in after}
    kept = [FoundPoint(each.text, told.pop(each.text, each.done)) for each in known if each.text not in gone]
    return (*kept, *(FoundPoint(text, done) for text, done in told.items()))[:MAX_PLAN_POINTS]
