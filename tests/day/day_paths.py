"""The folders whose modules the day uses, for tests and for the processes that they start."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
HOST_FOLDERS = (
    "agent",
    *(f"hosts/{name}" for name in ("opencode", "claude_code", "codex", "pi", "langchain", "pydantic_ai")),
    *(f"hosts/{name}" for name in ("openai_agents", "google_adk", "claude_agent_sdk", "gateway")),
)


def add_host_folders() -> None:
    """Let modules of the hosts' tests be imported, behind what is there."""
    for name in ("", "day", *HOST_FOLDERS):
        folder = str(TESTS / name)
        if folder not in sys.path:
            sys.path.append(folder)
