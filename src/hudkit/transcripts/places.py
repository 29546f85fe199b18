"""Where hosts keep their transcripts and plans on this machine, by the variables that the hosts themselves heed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def opencode_data(env: Mapping[str, str] = os.environ) -> Path:
    """OpenCode's data folder: `XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`."""
    named = env.get("XDG_DATA_HOME")
    return (Path(named) if named else _home(env) / ".local" / "share") / "opencode"


def opencode_db(env: Mapping[str, str] = os.environ) -> Path:
    """OpenCode's database: `OPENCODE_DB` (an absolute path, or one within the data folder), else `opencode.db`."""
    named = env.get("OPENCODE_DB", "")
    return opencode_data(env) / (named if named and named != ":memory:" else "opencode.db")


def claude_projects(env: Mapping[str, str] = os.environ) -> Path:
    """Claude Code's transcripts: `projects` below `CLAUDE_CONFIG_DIR`, else below `~/.claude`."""
    named = env.get("CLAUDE_CONFIG_DIR")
    return (Path(named) if named else _home(env) / ".claude") / "projects"


def codex_sessions(env: Mapping[str, str] = os.environ) -> Path:
    """Codex's transcripts: `sessions` below `CODEX_HOME`, else below `~/.codex`."""
    named = env.get("CODEX_HOME")
    return (Path(named) if named else _home(env) / ".codex") / "sessions"


def plan_folders(roots: tuple[str, ...] = (), env: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Where plans are: OpenCode's of the projects at `roots` and of no project, and Claude Code's."""
    own = [Path(root) / ".opencode" / "plans" for root in roots if root.startswith("/")]
    return (*own, opencode_data(env) / "plans", claude_projects(env).parent / "plans")


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()
