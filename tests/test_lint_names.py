"""The lint of names: vague variables and parameters, and class names that two modules share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "lint_names.py"


def lint(folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout


def test_vague_names_are_refused_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("total = 0\nfor one in range(3):\n    total += one\n\n\ndef f(at): ...\n")
    code, report = lint(tmp_path)
    assert code == 1
    assert [line.partition(": ")[0].rpartition("/")[2] for line in report.splitlines()] == ["a.py:2", "a.py:6"]


def test_a_class_name_is_given_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("class Event: ...\n")
    code, report = lint(tmp_path)
    assert code == 1 and "class Event is also in" in report


def test_clear_names_pass(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Event: ...\n\n\ndef seen_at(event): ...\n")
    assert lint(tmp_path)[0] == 0
