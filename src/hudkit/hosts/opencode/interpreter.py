"""Whether a Python environment will still be there tomorrow: what a plugin starts must not be in a cache."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from hudkit.errors import ConfigError

NEEDS = ("hudkit", "starlette", "uvicorn")
"""What the daemon imports."""

_HINT = "Install hudkit to stay (`uv tool install 'hudkit[daemon]'` or pipx), and run that; or give --anyway"
_CACHES = frozenset({".cache", "Caches", "cache"})
_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/run")
_UV = ("archive-v", "environments-v", "builds-v")


def ephemeral(prefix: Path, env: Mapping[str, str]) -> str:
    """Why the environment at `prefix` will not stay; empty where nothing says so."""
    temporary = {os.path.realpath(place) for place in (*_TEMPORARY, tempfile.gettempdir())}
    caches = [os.path.realpath(env[name]) for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR") if env.get(name)]
    for place in (prefix, Path(os.path.realpath(prefix))):
        if any(place.is_relative_to(each) for each in temporary):
            return f"it is among temporary files ({place})"
        parts = place.parts
        cached = any(part in _CACHES or part.startswith(_UV) for part in parts)
        if cached or any(place.is_relative_to(each) for each in caches):
            return f"it is in a cache ({place}), as `uvx` and `pipx run` make them"
    return ""


def check(python: str, prefix: Path | None, env: Mapping[str, str]) -> None:
    """Make sure that `python`, of the environment at `prefix`, can be started later to run the daemon; with no
    `prefix` it is not asked whether the environment will stay.

    Raises `ConfigError` with the reason: it is missing, it will not stay, or it lacks a package when it is started
    without the caller's folder and environment.
    """
    if not python or not os.access(python, os.X_OK) or not Path(python).is_file():
        raise ConfigError(f"there is no interpreter at {python or '(unknown)'}", hint=_HINT)
    why = ephemeral(prefix, env) if prefix is not None else ""
    if why:
        raise ConfigError(f"this environment will not stay: {why}", hint=_HINT)
    missing = _missing(python)
    if missing:
        hint = "Install what the daemon needs: pip install 'hudkit[daemon]'"
        raise ConfigError(f"{python} cannot import {missing}", hint=hint)


def _missing(python: str) -> str:
    """The names of `NEEDS` that are not found by an interpreter started as the plugin starts it."""
    asked = f"import importlib.util as u; print(*(n for n in {NEEDS!r} if not u.find_spec(n)), sep=', ')"
    try:
        done = subprocess.run(
            [python, "-P", "-E", "-c", asked], cwd="/", capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"{python} cannot be started ({type(error).__name__})", hint=_HINT) from None
    return done.stdout.strip()
