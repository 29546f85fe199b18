"""`make release-check` builds what a release publishes and finds nothing wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


def test_the_dry_run_of_a_release_passes(tmp_path: Path) -> None:
    if not (shutil.which("uv") or (ROOT / ".uv/bin/uv").exists()):
        pytest.skip("there is no uv to build with")
    command = [sys.executable, str(ROOT / "scripts/release_check.py"), str(tmp_path / "dist")]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    bill = json.loads((tmp_path / "dist/sbom/hudkit.cdx.json").read_text())
    components = bill["components"]
    assert bill["metadata"]["component"]["name"] == "hudkit"
    assert {"msgspec", "pydantic-ai-slim", "mcp"} <= {each["name"] for each in components}
