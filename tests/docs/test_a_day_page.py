"""docs/a-day.md: its table has each step of the day and each host, and the README the same hosts."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- the day, as it was run: python tests/day/day_table.py -->", "<!-- end of the day -->"


def _rows(name: str) -> list[list[str]]:
    table = (ROOT / name).read_text("utf-8").partition(BEGIN)[2].partition(END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]


def test_the_table_has_each_step_and_no_difference() -> None:
    head, _, *rows = _rows("docs/a-day.md")
    steps = tomllib.loads((ROOT / "tests/day/day.toml").read_text("utf-8"))["step"]
    shown = [re.sub(r"^\d+\. ", "", row[0]) for row in rows[: len(steps)]]
    assert shown == [step["title"] for step in steps]
    (differences,) = [row[1:] for row in rows if row[0] == "**differences**"]
    assert differences == ["**0**"] * (len(head) - 1)


def test_the_readme_has_each_host() -> None:
    hosts = _rows("docs/a-day.md")[0][1:]
    assert _rows("README.md")[0][1:] == hosts
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130


def test_each_test_that_the_list_of_features_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w./]+)`", (ROOT / "docs/features.md").read_text("utf-8"))
    assert len(named) > 100 and not [path for path in named if not (ROOT / path).exists()]
