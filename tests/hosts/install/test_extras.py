"""Each host's extra, alone in an environment of its own: it installs, and the host's class can be made."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
MADE = {
    "langchain": "from hudkit.hosts.langchain import HudMiddleware as it; it()",
    "mcp": "from hudkit import Hud; from hudkit.hosts.mcp import server; server(Hud.in_memory())",
    "openai-agents": "from hudkit.hosts.openai_agents import HudRunner as it; it()",
    "pydantic-ai": "from hudkit.hosts.pydantic_ai import HudCapability as it; it()",
}


def run(*command: str | Path, cwd: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


@pytest.mark.parametrize("extra", MADE)
def test_a_hosts_extra_is_enough_for_it(extra: str, tmp_path: Path) -> None:
    uv = shutil.which("uv") or next((str(path) for path in (ROOT / ".uv/bin/uv",) if path.exists()), "")
    if not uv:
        pytest.skip("there is no uv to make environments with")
    own = tmp_path / "venv"
    constraint = ("--constraint", ROOT / "constraints.txt")
    run(uv, "venv", "--quiet", "--python", sys.executable, own, cwd=tmp_path)
    run(
        uv, "pip", "install", "--quiet", "--python", own / "bin/python", *constraint, f"{ROOT}[{extra}]", cwd=tmp_path
    )
    run(own / "bin/python", "-c", MADE[extra], cwd=tmp_path)
    run(own / "bin/hudkit", "--version", cwd=tmp_path)
