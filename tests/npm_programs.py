"""The real command-line hosts, each taken from npm once into the checkout's git-ignored cache, by version."""

from __future__ import annotations

import fcntl
import functools
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

CACHE = Path(__file__).resolve().parents[1] / ".cache"
SECONDS = 300.0


class NpmProgram(NamedTuple):
    """A program that npm brings: `executable` is a pattern below `node_modules`, `version_line` what it prints.

    `node` is the version of Node.js, from npm too, that runs a program which is a script.
    """

    name: str
    package: str
    version: str
    executable: str
    version_line: str
    environment: tuple[tuple[str, str], ...] = ()
    node: str = ""


OPENCODE = NpmProgram(
    "opencode",
    "opencode-ai",
    "1.18.33",
    "opencode-*/bin/opencode",
    "1.18.33",
    (("OPENCODE_DISABLE_AUTOUPDATE", "1"),),
)
CLAUDE_CODE = NpmProgram(
    "claude-code",
    "@anthropic-ai/claude-code",
    "2.1.330",
    "@anthropic-ai/claude-code-*/claude",
    "2.1.330 (Claude Code)",
    (("DISABLE_AUTOUPDATER", "1"), ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")),
)
CODEX = NpmProgram("codex", "@openai/codex", "0.169.0", "@openai/codex-*/vendor/*/bin/codex", "codex-cli 0.169.0")
PI = NpmProgram(
    "pi",
    "@earendil-works/pi-coding-agent",
    "1.3.0",
    "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
    "1.3.0",
    (("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")),
    node="22.23.3",
)


class Unavailable(Exception):
    """A program cannot be had here; the message says why."""


@functools.cache
def executable(program: NpmProgram) -> Path:
    """The executable of a program, installed where it is missing (60 to 400 MB to load). Raises `Unavailable`.

    Processes that ask at the same time wait for the first. No install script of a package is run: the package of
    the platform holds the executable, and what it needs beside it.
    """
    cache = CACHE / program.name
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        link = cache / program.version / program.name
        if not link.exists():
            _install(program, cache, link)
    return link.resolve()


def _install(program: NpmProgram, cache: Path, link: Path) -> None:
    work = cache / program.version
    npm_install((f"{program.package}@{program.version}", *_node_package(program)), work)
    works = functools.partial(_works, program, work / "home")
    brought = sorted(work.glob(f"node_modules/{program.executable}"))
    found = next(filter(works, [_with_node(work, program, each) for each in brought]), None)
    if found is None:
        raise Unavailable(f"no executable that npm brought prints {program.version_line!r} on {sys.platform}")
    link.symlink_to(found.relative_to(work))


def npm_install(packages: Sequence[str], work: Path) -> None:
    """Put packages of npm and what they need below an empty `work`. Raises `Unavailable`."""
    wanted = packages[0]
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(f"npm is not on PATH: it brings {wanted}")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "package.json").write_text('{"private": true}')
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    try:
        done = subprocess.run(
            [npm, "install", *quiet, *packages],
            cwd=work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"npm did not bring {wanted} within {SECONDS:.0f} s") from error
    if done.returncode:
        raise Unavailable(f"npm install {wanted} failed: {done.stderr.strip()[-400:]}")


def _node_package(program: NpmProgram) -> list[str]:
    """The package of Node.js for this system, where a program is a script."""
    if not program.node:
        return []
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), "arm64")
    return [f"node-{sys.platform}-{machine}@{program.node}"]


def _with_node(work: Path, program: NpmProgram, script: Path) -> Path:
    """What runs a script by npm's Node.js, under the program's own name; an executable as it is."""
    if not program.node:
        return script
    (node,) = work.glob("node_modules/node-*-*/bin/node")
    runs = work / "bin" / program.name
    runs.parent.mkdir(exist_ok=True)
    runs.write_text(f'#!/bin/sh\nexec "{node}" "{script}" "$@"\n')
    runs.chmod(0o755)
    return runs


def _works(program: NpmProgram, home: Path, executable: Path) -> bool:
    """Whether it runs on this processor and C library."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), **dict(program.environment)}
    try:
        said = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=60, env=env)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.stdout.strip() == program.version_line


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["opencode"]
    for program in (OPENCODE, CLAUDE_CODE, CODEX, PI):
        if program.name in wanted:
            print(executable(program))
