"""The examples run, and show what they say."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))
SDK = {"06_langchain", "07_pydantic_ai", "08_openai_agents", "12_google_adk"}
"""They import an SDK, which costs a second or more."""
PROGRAM = {"10_claude_agent_sdk": "claude_agent_sdk"}
"""They start a real program, which a package brings."""


def marks(path: Path) -> list[pytest.MarkDecorator]:
    if path.stem in PROGRAM:
        return [pytest.mark.slow, pytest.mark.hosts]
    return [pytest.mark.slow] if path.stem in SDK else []


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem, marks=marks(path)) for path in EXAMPLES])
@pytest.mark.slow
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if path.stem in PROGRAM and not os.environ.get("CI"):
        pytest.importorskip(PROGRAM[path.stem])
    runpy.run_path(str(path), run_name="__main__")
    assert "Task" in capsys.readouterr().out


def test_they_are_numbered() -> None:
    assert [int(path.stem[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))
