"""Which OpenCode is installed: its programs, their versions, and the generation of plugins that each loads."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from hudkit.hosts.installing.user_environment import home_directory

VERSION_SECONDS = 10.0

_NAMES = ("opencode", "opencode2")
"""Programs; the second one is what test releases of OpenCode 2 were called."""


def find_programs(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the programs in PATH, else the one that OpenCode's own installer puts into the user's home."""
    paths = (shutil.which(name, path=env.get("PATH", os.defpath)) for name in _NAMES)
    programs = tuple(Path(path).absolute() for path in paths if path is not None)
    own = home_directory(env) / ".opencode" / "bin" / "opencode"
    return programs or ((own,) if os.access(own, os.X_OK) else ())


def program_version(program: Path, env: Mapping[str, str]) -> str:
    """Return what a program says is its version, empty where it says none.

    Raises `OSError` or `subprocess.SubprocessError` where it does not answer.
    """
    quiet = {**env, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    done = subprocess.run(
        [str(program), "--version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=VERSION_SECONDS,
        env=quiet,
        check=True,
    )
    match = re.search(rb"\d+\.\d+\.\d+[\w.+\-]{0,40}", done.stdout[:10_000])
    return match[0].decode() if match else ""


def generation_of(version: str) -> int:
    """Return which plugins a version loads: 1, or 2 from OpenCode 2 on (and for its test releases, 0.0.0-…)."""
    return 2 if re.match(r"(?:[2-9]|\d{2,})\.|0\.0\.0-", version) else 1


def installed_generations(env: Mapping[str, str]) -> frozenset[int]:
    """Return the generations of plugins that the installed programs load; empty where none answers."""
    generations = set()
    for program in find_programs(env):
        try:
            version = program_version(program, env)
        except (OSError, subprocess.SubprocessError):
            continue
        if version:
            generations.add(generation_of(version))
    return frozenset(generations)
