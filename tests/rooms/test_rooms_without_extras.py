"""The rooms' commands in an install without extras: help needs none of them, and an error says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_EXTRAS = """
import sys
from importlib.abc import MetaPathFinder

EXTRAS = {"toon_format", "justhtml", "starlette", "uvicorn", "uvloop", "httptools", "pydantic_ai"}

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from hudkit.__main__ import main
sys.exit(main())
"""

COMMANDS = ("run", "serve")


def run_without_extras(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=lambda one: " ".join(one) or "rooms")
def test_help_needs_no_extra(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run_without_extras(tmp_path, "rooms", *command, "--help")
    assert done.returncode == 0 and "usage: hudkit rooms" in done.stdout, done.stderr


@pytest.mark.slow
def test_serving_without_extras_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    done = run_without_extras(tmp_path, "rooms", "serve", "--world", str(tmp_path / "world.db"))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "pip install 'hudkit[rooms]'" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.slow
def test_a_world_of_json_agents_is_made_and_shown_without_extras(tmp_path: Path) -> None:
    world = str(tmp_path / "world.db")
    made = run_without_extras(tmp_path, "rooms", "new", world)
    assert made.returncode == 0, made.stderr
    shown = run_without_extras(tmp_path, "rooms", "show", "1", "--world", world)
    assert shown.returncode == 0 and '"rooms"' in shown.stdout, shown.stderr
