"""`docs/adding-an-operation.md` is true: its code, put where it says, is a working operation, and its test passes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-an-operation.md").read_text()
ARGUMENTS, WRITING, READING, TEST = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_names_places_that_exist() -> None:
    for path in re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


@pytest.mark.slow
def test_the_page_adds_an_operation(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    shutil.copytree(ROOT / "tests" / "tools", tmp_path / "tests" / "tools", ignore=ignored)
    for shared in [*(ROOT / "tests").glob("*.py"), ROOT / "pyproject.toml"]:
        shutil.copy(shared, tmp_path / shared.relative_to(ROOT))
    module = tmp_path / "src" / "hudkit" / "tools" / "notes.py"
    text = module.read_text().replace("    AnswerRow,\n", "    AnswerRow,\n    EmptyArguments,\n", 1)
    module.write_text("\n\n".join((text, ARGUMENTS, WRITING, READING)))
    tests = tmp_path / "tests" / "tools" / "test_operations.py"
    tests.write_text(f"{tests.read_text()}\n\n{TEST}")
    modules = ["tests/tools/test_operations.py", "tests/tools/test_tool_schemas.py"]
    chosen = "notes.extend or notes.count or a_note_is_extended"
    command = [sys.executable, "-m", "pytest", *modules, "-k", chosen]
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    # the new test, and the three tests of each definition for both operations
    assert "7 passed" in done.stdout, done.stdout
