"""The real OpenCode, taken from npm once into the checkout's git-ignored cache."""

from __future__ import annotations

import fcntl
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "1.18.33"
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "opencode"
SECONDS = 300.0


class Unavailable(Exception):
    """OpenCode cannot be had here; the message says why."""


@functools.cache
def binary() -> Path:
    """The executable of `VERSION`, installed where it is missing (some 60 MB to load). Raises `Unavailable`.

    Processes that ask at the same time wait for the first. No install script of a package is run: the package of
    the platform holds the executable.
    """
    place = CACHE / VERSION / "opencode"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _install(place)
    return place


def _install(place: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not on PATH: it brings OpenCode {VERSION}")
    work = CACHE / f"{VERSION}.part"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "package.json").write_text('{"private": true}')
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    command = [npm, "install", *quiet, f"opencode-ai@{VERSION}"]
    try:
        done = subprocess.run(
            command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm did not bring OpenCode {VERSION} within {SECONDS:.0f} s") from error
    if done.returncode:
        raise Unavailable(f"npm install opencode-ai@{VERSION} failed: {done.stderr.strip()[-400:]}")
    found = next(filter(_works, sorted(work.glob("node_modules/opencode-*/bin/opencode"))), None)
    if found is None:
        raise Unavailable(f"no executable that npm brought prints {VERSION} on {sys.platform}")
    place.parent.mkdir(exist_ok=True)
    found.rename(place)
    shutil.rmtree(work)


def _works(executable: Path) -> bool:
    """Whether it runs on this processor and C library."""
    home = executable.parent / "home"
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    try:
        said = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=60, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.strip() == VERSION


if __name__ == "__main__":
    print(binary())
