"""`docs/adding-a-section.md` is true: its code, put where it says, is a working section; nothing else is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-section.md").read_text()
EVENTS, MODULE, ROW, FIELD, OPERATIONS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

USE = """
from hudkit.api import Hud

with Hud.in_memory() as hud:
    s = hud.session("s")
    first = s.frame(used_tokens=1000, limit_tokens=200_000)
    answer = s.call("links.add", {"url": "https://docs.example/retries"})
    assert answer.data["id"] == "l1", answer
    assert "links" in s.tool("hud", {"tool": "help"})
    delta = s.frame(used_tokens=1000, limit_tokens=200_000).deltas[0].text
    assert "link: https://docs.example/retries" in delta, delta
    whole = s.frame(used_tokens=1000, limit_tokens=200_000, placement="system").text
    assert "## Links (1)\\n\\n- https://docs.example/retries\\n" in whole, whole
    assert s.state_at(s.state.seq).links == s.state.links
    s.call("links.remove", {"id": "l1"})
    assert len(s.state.links) == 0
print("the section works")
"""


def put_before(path: Path, line: str, text: str) -> None:
    """Write `text` before the first line that begins with `line`; the page names each such place."""
    body = path.read_text()
    assert line in body, f"{path} has no {line!r}"
    path.write_text(body.replace(line, f"{text.rstrip()}\n{line}", 1))


@pytest.mark.slow
def test_the_page_adds_a_section(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "data"))
    package = tmp_path / "src" / "hudkit"
    put_before(package / "log" / "payloads.py", "class Unknown(", f"{EVENTS.rstrip()}\n\n")
    (package / "sections" / "links.py").write_text(MODULE)
    put_before(package / "sections" / "table.py", "    notes,\n", "    links,")
    put_before(package / "sections" / "table.py", '    SectionSpec(\n        "files"', ROW)
    put_before(
        package / "sections" / "state.py",
        "from hudkit.sections.model_calibration",
        "from hudkit.sections.links import LinksState",
    )
    put_before(package / "sections" / "state.py", "    files: FilesState", FIELD)
    (package / "tools" / "links.py").write_text(OPERATIONS)
    listed = "from hudkit.tools import links as links"
    put_before(package / "tools" / "__init__.py", "from hudkit.tools import progress", listed)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", USE], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the section works\n"
