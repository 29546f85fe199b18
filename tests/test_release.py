"""A release: one version everywhere, a workflow that calls what is there, and checks that see what is wrong."""

from __future__ import annotations

import re
import runpy
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml

from hudkit import __version__

ROOT = Path(__file__).parents[1]
CHECK = runpy.run_path(str(ROOT / "scripts" / "release_check.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
JOBS = WORKFLOW["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def test_one_version_everywhere() -> None:
    assert list(CHECK["version_problems"](__version__)) == []
    assert len(list(CHECK["version_problems"]("9.9.9"))) == 3


def test_the_workflow_calls_only_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [step["run"] for step in STEPS if "run" in step]
    called = {word for command in commands for word in re.findall(r"\bmake ([a-z-]+)", command)}
    assert called == {"check", "test", "release-check"} and called <= targets
    assert all(command.startswith(("make ", "test ")) for command in commands)


def test_nothing_is_published_untested_and_no_secret_is_stored() -> None:
    publish = JOBS["publish"]
    assert set(publish["needs"]) == {"test", "build"} and publish["environment"]["name"] == "pypi"
    assert publish["permissions"] == {"id-token": "write"} and WORKFLOW["permissions"] == {"contents": "read"}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()
    used = [step["uses"] for step in publish["steps"]]
    assert used[-1].startswith("pypa/gh-action-pypi-publish@")
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]) for step in STEPS if "uses" in step)
    # What is published is what was checked: built once.
    assert not any("build" in step.get("run", "") for step in publish["steps"])


def test_what_the_jobs_hand_on_is_what_the_check_writes() -> None:
    paths = [path for step in JOBS["build"]["steps"] for path in step.get("with", {}).get("path", "").split()]
    assert paths == ["dist/*.whl", "dist/*.tar.gz", "dist/sbom/hudkit.cdx.json"]


def test_every_python_that_is_named_is_tested() -> None:
    marks = [mark.rpartition(" :: ")[2] for mark in PROJECT["project"]["classifiers"] if "Python :: 3." in mark]
    assert marks == JOBS["test"]["strategy"]["matrix"]["python"]
    assert PROJECT["project"]["requires-python"] == f">={marks[0]}"


def _names(*more: str) -> list[str]:
    source = ROOT / "src"
    files = [path for path in (source / "hudkit").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    licences = [f"hudkit-1.dist-info/licenses/{name}" for name in PROJECT["project"]["license-files"]]
    return [
        *(path.relative_to(source).as_posix() for path in files),
        *licences,
        "hudkit-1.dist-info/entry_points.txt",
        *more,
    ]


@pytest.mark.slow
def test_the_contents_of_a_wheel() -> None:
    problems = CHECK["wheel_problems"]
    source = ROOT / "src/hudkit"
    assert list(problems(_names(), source)) == []
    assert list(problems(_names("tests/x.py"), source)) == [
        "the wheel has tests/x.py",
        "the wheel has tests/x.py, which no user needs",
    ]
    assert list(problems(_names("hudkit/__pycache__/x.pyc"), source))
    without = [name for name in _names() if name != "hudkit/py.typed"]
    assert "the wheel lacks hudkit/py.typed" in list(problems(without, source))


def test_the_contents_of_an_sdist() -> None:
    needed = ["LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "src/hudkit/py.typed", "tests/test_x.py"]
    assert list(CHECK["sdist_problems"](needed)) == []
    assert list(CHECK["sdist_problems"](needed[1:])) == ["the sdist lacks LICENSE"]
    assert list(CHECK["sdist_problems"]([*needed, ".cache/x"]))


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("[a](docs/mcp.md)", "relative"),
        ("[a](https://github.com/hudkit/hudkit/blob/v1/docs/nowhere.md)", "not there"),
        ("![a](https://raw.githubusercontent.com/hudkit/hudkit/v1/docs/nowhere.svg)", "not there"),
        ("[a](#here) [b](https://example.org) [c](https://github.com/hudkit/hudkit/blob/v1/docs/mcp.md#http)", ""),
    ],
)
def test_the_links_of_a_page(page: str, problem: str) -> None:
    said = list(CHECK["link_problems"](page, ROOT))
    assert len(said) == bool(problem) and problem in "".join(said)


def test_the_metadata() -> None:
    metadata = Message()
    metadata["Version"] = "1"
    metadata["Project-URL"] = "Repository, https://example.org"
    metadata.set_payload("text")
    assert list(CHECK["metadata_problems"](metadata, "1")) == ["there is no address for Changelog"]
    assert len(list(CHECK["metadata_problems"](metadata, "2"))) == 2
