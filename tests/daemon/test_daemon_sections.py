"""Custom sections in a real daemon: they are in its frames, a bad one harms no frame, and nothing outlives it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from opencode_messages import anchored, user
from waiting import until

pytest.importorskip("pydantic_monty")
pytestmark = pytest.mark.slow


def ask(daemon: Any, project: Path, n: int = 1) -> dict[str, Any]:
    messages = [user(each, f"Do part {each}") for each in range(1, n + 1)]
    return daemon.ask(
        "/v1/frame",
        directory=str(project),
        model={"id": "m", "provider": "p", "limit": 40_000, "output": 4_000, "input": 0},
        transcript=[anchored(one) for one in messages],
        messages=messages[-1:],
        facts={"title": "Report", "agent": "build", "parent": None},
        seen=None,
        used=None,
    )


def tool(daemon: Any, project: Path, operation: str, /, **args: Any) -> str:
    return daemon.ask("/v1/tool", directory=str(project), router="hud", arguments={"tool": operation, "args": args})[
        "text"
    ]


def children(pid: int) -> set[int]:
    return {
        int(one) for task in Path(f"/proc/{pid}/task").iterdir() for one in (task / "children").read_text().split()
    }


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are looked at in /proc")
def test_sections_of_a_user_and_a_project(daemon: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    (config / "sections").mkdir(parents=True)
    (config / "config.toml").write_text("[custom]\nagent = true\nbudget_ms = 1000\n")
    (config / "sections" / "loop.py").write_text("def section():\n    while True: pass\n")
    (config / "sections" / "mine.py").write_text("def section():\n    return 'from the user'\n")
    theirs = tmp_path / "project" / ".hudkit" / "sections" / "theirs.py"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("def section():\n    return 'from the project'\n")
    monkeypatch.setenv("HUDKIT_CONFIG", str(config / "config.toml"))
    monkeypatch.setenv("HUDKIT_DATA", str(tmp_path / "data"))
    process = daemon.start()
    project = tmp_path / "project"

    first = ask(daemon, project)["base"]
    assert "from the user" in first and "from the project" not in first
    assert "custom section loop: failed: ran too long" in first
    said = tool(daemon, project, "sections.define", name="own", source="def section(): return 'from the agent'")
    assert said == "Defined section own."
    assert any("from the agent" in one["text"] for one in ask(daemon, project, 2)["deltas"])

    workers = children(process.pid)
    assert len(workers) == 1
    process.kill()
    process.wait()
    until(lambda: not any(alive(pid) for pid in workers), "the sandbox outlives a daemon that was killed")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not yet taken away does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z" and os.getpid() != pid
    except (FileNotFoundError, ProcessLookupError):
        return False
