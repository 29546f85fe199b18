"""Which runs of a shell command are the same, and what a finished one says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.ingest.failures import ShellStatement, command_outcomes, covers, parse_statements

CWD = "/home/dev/orchard"
FAILED = "test_x ... FAIL\n-----\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n"
PASSED = "..\n-----\nRan 2 tests in 0.1s\n\nOK\n"


def texts(command: str) -> list[str]:
    return [statement.text for statement in parse_statements(command, cwd=CWD)]


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests/test_a.py",
        "pytest tests/test_a.py 2>&1",
        "pytest -v tests/test_a.py 2>&1 | tail -20",
        "pytest -q 'tests/test_a.py' > /tmp/log 2>&1",
        "python3 -m pytest -vv tests/test_a.py",
        ".venv/bin/python -m pytest tests/test_a.py",
        "python -B -u -m pytest tests/test_a.py",
        ".venv/bin/pytest tests/test_a.py | tee log.txt | head -5",
        "uv run pytest tests/test_a.py",
        "time timeout 60 pytest tests/test_a.py",
        f"cd {CWD} && pytest tests/test_a.py",
        "cd . ; echo start; pytest tests/test_a.py; echo done",
        'pytest "tests/test_a.py" # only this one',
    ],
)
def test_one_command_in_many_spellings(command: str) -> None:
    assert texts(command) == ["pytest tests/test_a.py"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd web && npm test", ["(web) npm test"]),
        ("A=1 B='x y' make all", ["A=1 B='x y' make all"]),
        ("grep -v x f | sort | uniq -c", ["grep -v x f | sort | uniq -c"]),
        ('echo "a; b && c | d" > f; ls -v', ["ls -v"]),
        ("git commit -m 'fix; the && thing'", ["git commit -m fix; the && thing"]),
        ("a || b; c & d", ["a", "b", "c", "d"]),
        ("for f in *.py; do python3 $f; done", ["python $f"]),
        ("x $(date | cut -c1) y", ["x $(date | cut -c1) y"]),
        ("", []),
        ("echo hello", []),
        ("\\\n  make \\\n  all", ["make all"]),
    ],
)
def test_statements(command: str, expected: list[str]) -> None:
    assert texts(command) == expected


def test_a_here_document_counts_by_its_text() -> None:
    one = texts("python3 - <<'PY' 2>&1 | tail -3\nimport a; a.b()\nPY\n")
    two = texts("python3 - <<'PY' 2>&1 | tail -3\nimport a; a.c()\nPY\n")
    again = texts('python3 - <<"END" \nimport a; a.b()\nEND')
    assert len(one) == 1
    assert one == again != two


@pytest.mark.parametrize(
    ("command", "status", "output", "expected"),
    [
        ("make", 0, "ok", [("make", True)]),
        ("make", 2, "a.c:1: error: no\nmake: *** [all] Error 1", [("make", False)]),
        ("grep -rn foo src", 1, "", []),
        ("grep -rn foo src", 2, "grep: src: No such file or directory", [("grep -rn foo src", False)]),
        ("git diff --no-index a b | grep x", 1, "", []),
        ("ls | rg foo", 1, "", []),
        ("pytest -q", 1, "1 failed, 2 passed in 0.1s", [("pytest", False)]),
        ("pytest -q | tail -1", 0, "1 failed, 2 passed in 0.1s", [("pytest", False)]),
        ("pytest -q | tail -1", 0, "3 passed in 0.1s", [("pytest", True)]),
        ("pytest -q | tail -1", 0, "Killed", []),
        ("pytest --cov", 2, "3 passed in 1s\ncoverage is below 90", [("pytest --cov", False)]),
        ("pytest | xargs rm", 123, "3 passed in 1s", [("pytest | xargs rm", True)]),
        ("set -o pipefail; make 2>&1 | tail -1", 0, "error: none found", [("make", True)]),
        ("make 2>&1 | tail -1", 0, "gcc: fatal error: no input files", []),
        ("make 2>&1 | tail -1", 0, "all built", [("make", True)]),
        ("python3 -m unittest 2>&1 | tail -3; git status", 0, FAILED, [("unittest", False), ("git status", True)]),
        ("python3 -m unittest; git status", 0, PASSED, [("unittest", True), ("git status", True)]),
        ("python3 -m unittest", 0, "prints FAILED (on purpose)\nOK", [("unittest", True)]),
        ("ruff check . && pytest", 1, "Found 2 errors.", [("ruff check . && pytest", False)]),
        ("pytest && git push", 1, "3 passed in 1s\nrejected", [("pytest", True), ("pytest && git push", False)]),
        ("make || true", 0, "make: error", []),
        ("make || exit 1", 0, "", []),
        ("make; echo $?", 0, "error\n2", []),
        ("pytest -q; echo $?", 0, "1 failed in 2s\n1", [("pytest", False)]),
        ("make && echo fine", 0, "errors: none\nfine", [("make", True)]),
        ("make && echo fine", 2, "make: *** Error", [("make", False)]),
        ("sleep 99 && make", None, "terminated after exceeding timeout 1000 ms", [("make", False)]),
        ("make", None, "", []),
        ("make serve", 130, "^C", []),
        ("for i in 1 2; do pytest $i.py; done", 0, "1 failed in 1s\n2 passed in 1s", [("pytest $i.py", False)]),
        ("make && ./run", 0, "", [("make", True), ("./run", True), ("make && ./run", True)]),
    ],
)  # fmt: skip
def test_what_a_call_tells(command: str, status: int | None, output: str, expected: list[tuple[str, bool]]) -> None:
    found = [
        (outcome.statement.text, outcome.passed) for outcome in command_outcomes(command, status, output, cwd=CWD)
    ]
    assert found == expected


def test_the_telling_line() -> None:
    output = "Traceback:\nTypeError: bad operand\n\n-----\nRan 1 test\n\nFAILED (errors=1)\n\nreal\t0m0.5s\n"
    (outcome,) = command_outcomes("time python3 -m unittest", 1, output)
    assert outcome.line == "FAILED (errors=1) TypeError: bad operand"
    (outcome,) = command_outcomes("cargo build", 101, "error[E0382]: borrow of moved value\n\n-----\n  \n")
    assert outcome.line == "error[E0382]: borrow of moved value"
    (outcome,) = command_outcomes("false", 1, "")
    assert outcome.line == "exit status 1"


@pytest.mark.parametrize(
    ("passed", "failed", "expected"),
    [
        ("pytest", "pytest tests/test_a.py", True),
        ("pytest tests", "pytest tests/test_a.py::test_x -k y", True),
        ("pytest tests/test_a.py", "pytest", False),
        ("pytest tests/test_b.py", "pytest tests/test_a.py", False),
        ("pytest tests/test_a", "pytest tests/test_ab.py", False),
        ("pytest -k fast", "pytest tests/test_a.py", False),
        ("pytest -k fast", "pytest -k fast tests/test_a.py", True),
        ("python3 -m unittest tests.test_cli", "python3 -m unittest tests.test_cli.Output.test_x", True),
        ("python3 -m unittest", "pytest", False),
        ("go test ./...", "go test ./pkg", True),
        ("go test", "go test ./pkg", False),
        ("S=$i pytest", "S=1 pytest tests/test_a.py", True),
        ("S=2 pytest", "S=1 pytest tests/test_a.py", False),
        ("pytest", "S=1 pytest", False),
        ("cd web && npm test", "npm test", False),
        ("make", "make all", False),
        ("make all", "make all", True),
    ],
)
def test_a_wider_run_covers_a_narrower_one(passed: str, failed: str, expected: bool) -> None:
    (wide,), (narrow,) = parse_statements(passed), parse_statements(failed)
    assert covers(wide, narrow) is expected


@given(st.text(alphabet="ab'\"`$()|&;<>\\ \n#-=EOF{}!*", max_size=200), st.sampled_from([0, 1, None]))
def test_any_text_is_a_command(command: str, status: int | None) -> None:
    for outcome in command_outcomes(command, status, command):
        assert isinstance(outcome.statement, ShellStatement)
        assert outcome.statement.words
        assert covers(outcome.statement, outcome.statement)


@pytest.mark.slow
def test_a_hostile_command_is_read_in_passing() -> None:
    for piece in ("<<A\n", '"\\', "$(", "`", "'", "a<<E\nb", "((", "|| "):
        command = piece * (400_000 // len(piece))
        assert all(len(each.text) < 20_000 for each in parse_statements(command))
