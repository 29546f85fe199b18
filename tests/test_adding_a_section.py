"""`docs/adding-a-section.md` is true: its code, put where it says, is a working section; nothing else is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "adding-a-section.md").read_text()
EVENTS, REDUCER, FIELD, COMPONENT, OPERATIONS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

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


@pytest.mark.slow
def test_the_page_adds_a_section(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "data"))
    house = tmp_path / "src" / "hudkit"
    payloads = house / "events" / "payloads.py"
    payloads.write_text(payloads.read_text().replace("class Unknown(", f"{EVENTS.strip()}\n\n\nclass Unknown("))
    state = house / "projections" / "state.py"
    state.write_text(
        state.read_text()
        .replace(
            "from hudkit.sections.notes import",
            "from hudkit.sections.links import Links\nfrom hudkit.sections.notes import",
        )
        .replace("    files: Files", f"{FIELD.rstrip()}\n    files: Files")
    )
    (house / "projections" / "links.py").write_text(REDUCER)
    (house / "components" / "links.py").write_text(COMPONENT)
    (house / "tools" / "links.py").write_text(OPERATIONS)
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}
    done = subprocess.run([sys.executable, "-c", USE], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "the section works\n"
