"""The table of our loop beside others: each row names a file of tests that is there and has tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def rows() -> list[list[str]]:
    section = (ROOT / "docs" / "agent.md").read_text(encoding="utf-8").partition("## Beside other loops\n")[2]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


@pytest.mark.slow
def test_each_row_is_shown_by_a_test_that_is_there() -> None:
    assert len(rows()) >= 20
    for what, ours, shown_by, *others in rows():
        assert len(others) == 3, what
        name = shown_by.strip("`")
        (path,) = (ROOT / "tests").rglob(name)
        assert re.search(r"^(async )?def test_", path.read_text(encoding="utf-8"), re.MULTILINE), name


def test_a_no_in_our_column_has_a_link_to_its_reason() -> None:
    for what, ours, *_ in rows():
        assert re.search(r"\bno\b", re.sub(r"\[no\]\(#[a-z-]+\)", "", ours)) is None, what
