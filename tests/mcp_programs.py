"""Real MCP servers, each taken from PyPI or npm once into the checkout's git-ignored cache, by version."""

from __future__ import annotations

import fcntl
import functools
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple

from npm_programs import CACHE, SECONDS, Unavailable, npm_install


class McpProgram(NamedTuple):
    """A server: `executable` is a path below the folder of its installation."""

    name: str
    registry: Literal["PyPI", "npm"]
    package: str
    version: str
    executable: str


MCP_PROGRAMS = (
    McpProgram("git", "PyPI", "mcp-server-git", "2026.10.19", "bin/mcp-server-git"),
    McpProgram(
        "memory",
        "npm",
        "@modelcontextprotocol/server-memory",
        "2026.8.31",
        "node_modules/@modelcontextprotocol/server-memory/dist/index.js",
    ),
)


@functools.cache
def command(program: McpProgram) -> tuple[str, ...]:
    """The command that starts a server, which is installed where it is missing. Raises `Unavailable`."""
    folder = CACHE / "mcp" / program.name
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / program.version / program.executable
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _install(program, folder / program.version)
    if program.registry == "PyPI":
        return (str(path),)
    node = shutil.which("node")
    if node is None:
        raise Unavailable(f"node is not on PATH: it runs {program.package}")
    return (node, str(path))


def _install(program: McpProgram, work: Path) -> None:
    if program.registry == "npm":
        npm_install([f"{program.package}@{program.version}"], work)
        return
    shutil.rmtree(work, ignore_errors=True)
    pip = [work / "bin" / "python", "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    try:
        subprocess.run([sys.executable, "-m", "venv", work], check=True, capture_output=True, timeout=SECONDS)
        wanted = f"{program.package}=={program.version}"
        subprocess.run([*pip, wanted], check=True, capture_output=True, timeout=SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(work, ignore_errors=True)  # what is half there counts as missing
        raise Unavailable(f"pip did not bring {program.package} {program.version}: {error}") from error
