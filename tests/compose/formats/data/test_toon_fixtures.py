"""The official fixtures of TOON's specification, every one of them.

They are taken once, by version, from the specification's repository into the checkout's git-ignored cache; where they
cannot be had, the test says so and is skipped.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hudkit.compose.formats import toon
from hudkit.errors import FormatError

pytestmark = pytest.mark.hosts

VERSION, COMMIT = "v4.0.0", "c31beab79abf62f2bac16449ff1ce901d0b42ccd"
CACHE = Path(__file__).resolve().parents[4] / ".cache" / "toon-spec"
REPOSITORY = "https://github.com/toon-format/spec"
FIXTURES = 516
REFUSED = {
    "decode/objects: treats extra brackets after valid array segment as literal key (non-strict)",
    "decode/objects: treats bracket segment without a length as literal key (non-strict)",
    "decode/objects: treats non-integer bracket content as literal key (non-strict)",
    "decode/objects: treats text between bracket segment and colon as literal key (non-strict)",
}
"""Headers that are none, read without `strict`: the specification makes keys of them, `toon-format` refuses them."""


@pytest.fixture(scope="module")
def fixtures() -> Iterator[Path]:
    place = CACHE / VERSION
    if not place.exists():
        git = shutil.which("git")
        if git is None:
            pytest.skip(f"git is not on PATH: it brings {REPOSITORY} {VERSION}")
        work = CACHE / "work"
        shutil.rmtree(work, ignore_errors=True)
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [git, "clone", "--quiet", "--depth", "1", "--branch", VERSION, REPOSITORY, str(work)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{REPOSITORY} did not come within a minute")
        if done.returncode:
            pytest.skip(f"{REPOSITORY} cannot be had here: {done.stderr.strip()[-200:]}")
        head = subprocess.run([git, "-C", str(work), "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
        assert head.stdout.strip() == COMMIT, f"{VERSION} is another one than it was"
        (work / "tests" / "fixtures").rename(place)
        shutil.rmtree(work)
    yield place


def problem_of(kind: str, test: dict[str, Any]) -> str:
    """What is wrong with what we make of a fixture; empty: nothing."""
    given = test.get("options", {})
    options: dict[str, Any] = {"indent": given["indentSize"]} if "indentSize" in given else {}
    # What is read names its delimiter itself, and what is written is always strict.
    name = "strict" if kind == "decode" else "delimiter"
    if name in given:
        options[name] = given[name]
    try:
        made = (toon.decode if kind == "decode" else toon.encode)(test["input"], **options)
    except FormatError as error:
        return "" if test.get("shouldError") else f"refused: {error}"
    if test.get("shouldError"):
        return f"read as {made!r}"
    return "" if _by_value(made) == _by_value(test["expected"]) else f"{made!r} instead of {test['expected']!r}"


def _by_value(value: object) -> str:
    """A value as text, numbers by value (1.0 is 1) and true apart from 1."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_by_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_by_value, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        return json.dumps(int(value))
    return json.dumps(value)


def test_all_fixtures_of_the_specification(fixtures: Path) -> None:
    wrong: dict[str, str] = {}
    count = 0
    for file in sorted(fixtures.glob("*/*.json")):
        for test in json.loads(file.read_text("utf-8"))["tests"]:
            count += 1
            if problem := problem_of(file.parent.name, test):
                wrong[f"{file.parent.name}/{file.stem}: {test['name']}"] = problem
    assert count == FIXTURES
    assert wrong.keys() == REFUSED and all(problem.startswith("refused") for problem in wrong.values()), wrong
