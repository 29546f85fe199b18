"""The table of abuse cases names tests that exist, and every case has one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROWS = re.findall(r"^\| ([A-G]\d+) \| .+ \| (.+) \|$", (HERE / "cases.md").read_text(), re.MULTILINE)

CASE = re.compile(r'^(?:async )?def (test_\w+)\((?:.|\n)*?-> None:\n    """([A-G]\d+)', re.MULTILINE)


def test_every_case_stands_once() -> None:
    cases = [case for case, _ in ROWS]
    assert cases == sorted(set(cases), key=lambda case: (case[0], int(case[1:])))
    assert len(cases) >= 45


@pytest.mark.parametrize(("case", "tests"), ROWS)
def test_the_tests_of_a_case_exist(case: str, tests: str) -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", tests)
    assert named and len(named) == tests.count("::"), tests
    for file, name in named:
        assert re.search(rf"^(async )?def {name}\(", (HERE.parent / file).read_text(), re.MULTILINE), (
            f"{file}::{name}"
        )


def test_every_test_of_a_module_says_its_case_and_is_in_the_table() -> None:
    for module in HERE.glob("test_[a-g]_*.py"):
        text = module.read_text()
        for name, case in re.findall(
            r'^(?:async )?def (test_\w+)\((?:.|\n)*?-> None:\n    """([A-G]\d+)', text, re.MULTILINE
        ):
            row = dict(ROWS)[case]
            assert f"abuse/{module.name}::{name}" in row, f"{case}: {name}"
        assert len(re.findall(r"^(?:async )?def test_", text, re.MULTILINE)) == len(
            re.findall(r'^    """[A-G]\d+', text, re.MULTILINE)
        ), "a test without its case"
