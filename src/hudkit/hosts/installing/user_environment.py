"""Where programs keep what they are configured with: the user's directories, and the project of a directory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hudkit.errors import ConfigError
from hudkit.installation import install_hint, lasting_install_hint


def home_directory(env: Mapping[str, str]) -> Path:
    """Return the user's home, as programs are started with these variables."""
    return Path(env.get("HOME") or Path.home())


def config_home(env: Mapping[str, str]) -> Path:
    """Return where programs that follow the XDG directories keep the user's configuration."""
    named = env.get("XDG_CONFIG_HOME")
    return Path(named) if named else home_directory(env) / ".config"


def project_directory(start: Path) -> Path:
    """Return the project of a directory: its git root, else itself."""
    return next((place for place in (start, *start.parents) if (place / ".git").exists()), start)


# --- Whether a Python environment will still be there tomorrow: what another program starts must not be in a cache.


_CACHES = frozenset({".cache", "Caches", "cache"})
_TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/dev/shm", "/run")
_UV = ("archive-v", "environments-v", "builds-v")


class RuntimeNeeds(msgspec.Struct, frozen=True):
    """What the started program imports, and the extra of hudkit that brings it (none: the core does)."""

    packages: tuple[str, ...]
    extra: str = ""

    @property
    def hint(self) -> str:
        """Return how hudkit gets an environment that stays."""
        return f"Install hudkit to stay (`{lasting_install_hint(self.extra)}`), and run that; or give --anyway"


DAEMON_NEEDS = RuntimeNeeds(("hudkit", "starlette", "uvicorn"))
"""What a host starts to reach the daemon, and what the daemon imports."""


def ephemeral_reason(prefix: Path, env: Mapping[str, str]) -> str:
    """Return why the environment at `prefix` will not stay; empty where nothing says so."""
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


def check_interpreter(python: str, prefix: Path | None, env: Mapping[str, str], needs: RuntimeNeeds) -> None:
    """Make sure that `python`, of the environment at `prefix`, can be started later and finds what it `needs`; with
    no `prefix` it is not asked whether the environment will stay.

    Raises `ConfigError` with the reason: it is missing, it will not stay, or it lacks a package when it is started
    without the caller's folder and environment.
    """
    if not python or not os.access(python, os.X_OK) or not Path(python).is_file():
        raise ConfigError(f"there is no interpreter at {python or '(unknown)'}", hint=needs.hint)
    why = ephemeral_reason(prefix, env) if prefix is not None else ""
    if why:
        raise ConfigError(f"this environment will not stay: {why}", hint=needs.hint)
    missing = _missing(python, needs)
    if missing:
        hint = f"Install what is missing: {install_hint(needs.extra)}"
        raise ConfigError(f"{python} cannot import {missing}", hint=hint)


def _missing(python: str, needs: RuntimeNeeds) -> str:
    """Return the names of the packages that an interpreter started as the other program starts it does not find."""
    asked = f"import importlib.util as u; print(*(n for n in {needs.packages!r} if not u.find_spec(n)), sep=', ')"
    try:
        done = subprocess.run(
            # As hosts start it: without the folder and the variables of the caller, which may lend it packages.
            [python, "-P", "-E", "-c", asked],
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ConfigError(f"{python} cannot be started ({type(error).__name__})", hint=needs.hint) from None
    return done.stdout.strip()
