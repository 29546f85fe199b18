"""Test counts, commits and plan files, by what tools print; and all of it through the host's messages."""

from __future__ import annotations

import pytest
from bench.shapes import judge, read, shapes

from hudkit.ingest.extraction import (
    count_tests,
    find_commits,
    is_plan_file,
    plan_points,
    update_points,
)
from hudkit.log.payloads import CommitMade, PlanPoint

OUTPUTS = {
    ("pytest -q", "1 failed, 2 passed in 6.11s"): (2, 1, 0),
    ("python -m pytest", "=== 3 passed, 1 skipped, 2 warnings in 0.21s ==="): (3, 0, 1),
    ("uv run pytest", "1 error in 0.33s"): (0, 1, 0),
    ("python -m unittest", "Ran 6 tests in 0.03s\n\nFAILED (failures=1, errors=1)"): (4, 2, 0),
    ("python -m unittest -v 2>&1 | tail -4", "Ran 6 tests in 0.03s\n\nOK (skipped=2)"): (4, 0, 2),
    ("npx jest", "Tests:       2 failed, 1 skipped, 9 passed, 12 total"): (9, 2, 1),
    ("npm test", " Test Files  1 passed (1)\n      Tests  5 passed (5)"): (5, 0, 0),
    (
        "cargo test",
        "test result: ok. 4 passed; 0 failed; 1 ignored; 0\ntest result: ok. 2 passed; 0 failed; 0 ignored;",
    ): (
        6,
        0,
        1,
    ),
    ("go test -v ./...", "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\texample.com/x\t0.01s"): (1, 1, 0),
    ("npx mocha", "  12 passing (30ms)\n  1 failing"): (12, 1, 0),
    ("node --test", "# tests 3\n# pass 2\n# fail 1"): (2, 1, 0),
    ("dotnet test", "Failed!  - Failed:     1, Passed:    22, Skipped:     2, Total:    25, Duration: 3 ms"): (
        22,
        1,
        2,
    ),
    ("mvn -q test", "[ERROR] Tests run: 212, Failures: 2, Errors: 1, Skipped: 3"): (206, 3, 3),
    ("./gradlew test", "12 tests completed, 1 failed"): (11, 1, 0),
    ("vendor/bin/phpunit", "Tests: 8, Assertions: 11, Failures: 1."): (7, 1, 0),
    ("php vendor/bin/phpunit", "OK (8 tests, 11 assertions)"): (8, 0, 0),
    ("bundle exec rspec", "8 examples, 1 failure, 1 pending"): (6, 1, 1),
    ("bin/rails test", "64 runs, 151 assertions, 1 failures, 0 errors, 2 skips"): (61, 1, 2),
    ("mix test", "12 tests, 1 failure"): (11, 1, 0),
    ("ctest", "83% tests passed, 1 tests failed out of 6"): (5, 1, 0),
    ("xcodebuild test", "Executed 27 tests, with 1 failure (0 unexpected) in 2.1 seconds"): (26, 1, 0),
    ("sbt test", "[info] Tests: succeeded 57, failed 1, canceled 0, ignored 2, pending 0"): (57, 1, 2),
    ("Rscript -e 'testthat::test_dir(\"tests\")'", "[ FAIL 1 | WARN 0 | SKIP 0 | PASS 6 ]"): (6, 1, 0),
    ("./run_tests.sh", "[  PASSED  ] 41 tests."): (41, 0, 0),
    ("prove -l t", "Files=2, Tests=11,  1 wallclock secs\nResult: PASS"): (11, 0, 0),
    ("dbt test", "Done. PASS=8 WARN=0 ERROR=1 SKIP=0 TOTAL=9"): (8, 1, 0),
    ("python manage.py test", "Ran 9 tests in 0.4s\n\nFAILED (failures=1)"): (8, 1, 0),
}


@pytest.mark.parametrize("given", OUTPUTS, ids=lambda given: given[0])
def test_counts_of_runners(given: tuple[str, str]) -> None:
    found = count_tests(*given)
    assert found is not None
    assert (found.passed, found.failed, found.skipped) == OUTPUTS[given]
    assert "2>&1" not in found.command and "tail" not in found.command


@pytest.mark.parametrize(
    ("command", "output"),
    (
        ("cat log.txt", "1 failed, 2 passed in 6.11s"),
        ("grep -n failed test.log", "1 failed, 2 passed in 6.11s"),
        ("tail -3 build/test-report.txt", "8 examples, 1 failure"),
        ("pytest -q", "usage: pytest"),
        ("go test ./...", "ok  \tx/y\t0.1s"),
    ),
)
def test_no_counts(command: str, output: str) -> None:
    assert count_tests(command, output) is None


def test_commits_as_git_tells_them() -> None:
    told = "[main (root-commit) 5be0c21] Renderer: labels\n 11 files changed"
    assert find_commits('git commit -m "Renderer: labels"', told) == (
        CommitMade("5be0c21", "Renderer: labels", "main"),
    )
    quiet = find_commits("git commit -qm 'printer' && git log --oneline -2", "f00dfee printer\n1234567 init")
    assert quiet == (CommitMade("f00dfee", "printer"),)
    assert find_commits("git log", told) == ()
    assert find_commits("git commit -qm x", "") == ()


def test_plan_files() -> None:
    assert [
        is_plan_file(path) for path in ("PLAN.md", "docs/TODO.md", "plans/printer.md", "plane.md", "src/plan.py")
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]
    known = plan_points("- [ ] a\n1. [x] b\n* [ ] c\ntext [ ] d")
    assert known == (PlanPoint("a", False), PlanPoint("b", True), PlanPoint("c", False))
    after = update_points(known, "- [ ] a\n* [ ] c", "- [x] a\n- [ ] e")
    assert after == (PlanPoint("a", True), PlanPoint("b", True), PlanPoint("e", False))


@pytest.mark.slow
def test_the_shapes_of_development_are_read_as_planted() -> None:
    outcomes = [one for blocks in shapes("development").values() for one in judge(blocks)]
    found, missed, false = (sum(len(getattr(one, name)) for one in outcomes) for name in ("found", "missed", "false"))
    assert found > 200
    assert found / (found + missed) >= 0.95
    assert found / (found + false) >= 0.96  # some of what is not planted is worth a note


def test_a_judge_counts_what_is_missed_and_what_is_false() -> None:
    blocks = read("== user\nnever push\n@@ constraint: pull\n== user\nhello\n@@ decision: tea\n")
    outcome = {one.kind: one for one in judge(blocks)}
    assert outcome["constraint"].false == ("never push",)
    assert len(outcome["constraint"].missed) == len(outcome["decision"].missed) == 1
