"""The recipe "Add a CLI command" of CONTRIBUTING.md is true: its code, put where it says, is a working command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPE = (ROOT / "CONTRIBUTING.md").read_text().partition("\n### Add a CLI command\n")[2].partition("\n### ")[0]
MODULE, LINE, TEST = re.findall(r"^```python\n(.*?)^```$", RECIPE, re.MULTILINE | re.DOTALL)


def test_the_recipe_names_places_that_exist() -> None:
    places = re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", RECIPE)
    assert len(places) >= 6
    for place in places:
        assert "NAME" in place or (ROOT / place).exists(), place


@pytest.mark.slow
def test_the_recipe_adds_a_command(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=ignored)
    (tmp_path / "tests" / "cli").mkdir(parents=True)
    for shared in [*(ROOT / "tests").glob("*.py"), ROOT / "tests" / "cli" / "conftest.py", ROOT / "pyproject.toml"]:
        shutil.copy(shared, tmp_path / shared.relative_to(ROOT))
    commands = tmp_path / "src" / "hudkit" / "cli" / "commands"
    (commands / "turns.py").write_text(MODULE)
    table = (commands / "__init__.py").read_text()
    assert table.count('        "log": ') == 1
    (commands / "__init__.py").write_text(table.replace('        "log": ', f'{LINE}        "log": '))
    (tmp_path / "tests" / "cli" / "test_cli_turns.py").write_text(TEST)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def python(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "1 passed" in python("-m", "pytest", "tests/cli/test_cli_turns.py")
    assert "\nexample: hudkit turns ses_1\n" in python("-m", "hudkit", "turns", "--help")
    assert re.search(r"^    turns +how many turns a session has had$", python("-m", "hudkit", "--help"), re.MULTILINE)
    assert "\n## turns\n\nHow many turns a session has had.\n" in python("-m", "hudkit.cli.reference")
