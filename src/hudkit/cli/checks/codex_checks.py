"""Checks of Codex: which version it is, and whether our hooks and server are in its configuration and trusted."""

from __future__ import annotations

import shutil
import subprocess

from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.errors import ConfigError
from hudkit.hosts.codex import codex_install
from hudkit.hosts.codex.codex_install import TRIED_VERSION, CodexTarget
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS, check_interpreter

_AGAIN = "hudkit install codex"


def _program(here: CheckEnvironment) -> Diagnosis:
    if not _target(here).manifest.exists():
        return good("not installed in Codex")
    path = shutil.which("codex", path=here.env.get("PATH"))
    if path is None:
        return warn("codex is not found in PATH", "Install Codex, or put it into PATH")
    try:
        done = subprocess.run(
            [path, "--version"], env=dict(here.env), capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return warn(f"`{path} --version` gives no answer ({type(error).__name__})", "Is Codex installed rightly?")
    version = done.stdout.strip().rpartition(" ")[2]
    if version != TRIED_VERSION:
        hint = "It probably works; where it does not, say the version in a bug report"
        return warn(f"version {version or 'unknown'} at {path}; hudkit is tried with {TRIED_VERSION}", hint)
    return good(f"version {version} at {path}")


def _hooks(here: CheckEnvironment) -> Diagnosis:
    """Whether hooks and server are as this version writes them, start an interpreter that works, and are trusted."""
    target = _target(here)
    if not target.manifest.exists():
        return good("nothing is installed")
    try:
        program = codex_install.server_program(target)
        missing = codex_install.missing_parts(target)
        if missing:
            return fail(f"{' and '.join(missing)} not in {target.home}", _AGAIN)
        check_interpreter(program, None, here.env, DAEMON_NEEDS)
        untrusted = codex_install.untrusted_hooks(target)
    except ConfigError as error:
        return fail(error.message, f"{_AGAIN} ({error.hint})")
    odd: list[Diagnosis] = []
    if program != here.python:
        problem = f"Codex starts {program}, this hudkit runs in {here.python}"
        odd.append(warn(problem, f"Is that meant? If not: {_AGAIN}"))
    if untrusted:
        problem = f"{untrusted} hooks are not trusted: Codex does not run them"
        odd.append(warn(problem, "Open Codex in a project, and say yes in /hooks"))
    return gravest(odd, f"in {target.config} and {target.hooks}")


def _target(here: CheckEnvironment) -> CodexTarget:
    opencode = here.install
    return CodexTarget(opencode.python, None, opencode.data, opencode.socket, here.env)


CODEX_CHECKS: tuple[CheckRow, ...] = (CheckRow("codex", _program, 15.0), CheckRow("codex hooks", _hooks))
"""The checks of Codex."""
