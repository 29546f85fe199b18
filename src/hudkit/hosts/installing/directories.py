"""Where programs keep what they are configured with: the user's directories, and the project of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home(env: Mapping[str, str]) -> Path:
    """The user's home, as programs are started with these variables."""
    return Path(env.get("HOME") or Path.home())


def config_home(env: Mapping[str, str]) -> Path:
    """Where programs that follow the XDG directories keep the user's configuration."""
    named = env.get("XDG_CONFIG_HOME")
    return Path(named) if named else home(env) / ".config"


def project_directory(start: Path) -> Path:
    """The project of a directory: its git root, else itself."""
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)
