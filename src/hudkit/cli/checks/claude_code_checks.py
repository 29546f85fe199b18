"""Checks of Claude Code and our plugin in it. Where it is neither there nor installed for, nothing is amiss."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.errors import ConfigError
from hudkit.hosts.claude_code.plugin import PLUGIN
from hudkit.hosts.claude_code.plugin_install import ClaudeManifest, ClaudeTarget, read_installed
from hudkit.hosts.installing import user_environment
from hudkit.hosts.installing.config_files import read_text
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS

_KNOWN_GOOD = "2.1.330"
"""The version of Claude Code that the plugin is tried with."""

_FIRST_WITH_MODS = (2, 1, 287)
_AGAIN = "hudkit install claude-code"
_VERSION_SECONDS = 30.0


def claude_target(here: CheckEnvironment) -> ClaudeTarget:
    """Return where the plugin would be installed."""
    socket = here.socket or here.data / "run" / "daemon.sock"
    return ClaudeTarget(here.python, here.prefix, here.data, here.db, socket, here.env)


def _program(here: CheckEnvironment) -> Diagnosis:
    program = claude_target(here).program
    if program is None:
        return good("not found in PATH")
    try:
        done = subprocess.run(
            [str(program), "--version"],
            env=dict(here.env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return warn(f"`{program} --version` gives no answer ({type(error).__name__})", "Is it installed rightly?")
    match = re.match(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    if match is None:
        return warn(f"`{program} --version` names no version", "Is it Claude Code?")
    version = match[0]
    if tuple(map(int, match.groups())) < _FIRST_WITH_MODS:
        words = f"version {version} at {program} has no mods: hooks stand in, a process each"
        return warn(words, "Update Claude Code to 2.1.287 or newer")
    if version != _KNOWN_GOOD:
        hint = "It probably works; where it does not, say the version in a bug report"
        return warn(f"version {version} at {program}; hudkit is tried with {_KNOWN_GOOD}", hint)
    return good(f"version {version} at {program}")


def _plugin(here: CheckEnvironment) -> Diagnosis:
    """Whether it is as this version writes it, enabled in Claude Code's settings, and its interpreter is there."""
    place = claude_target(here)
    try:
        manifest = read_installed(place)
        if manifest is None:
            if place.program is None:
                return good("Claude Code is not here")
            return warn("the plugin is not installed in Claude Code", _AGAIN)
        odd = _problems(place, manifest)
    except ConfigError as error:
        return fail(error.message, error.hint)
    return gravest(odd, f"enabled in {manifest.settings}")


def _problems(place: ClaudeTarget, manifest: ClaudeManifest) -> list[Diagnosis]:
    odd = []
    try:
        user_environment.check_interpreter(place.python, None, place.env, DAEMON_NEEDS)
    except ConfigError as error:
        odd.append(fail(f"the plugin cannot start the daemon: {error.message}", f"{_AGAIN} ({error.hint})"))
    text = read_text(Path(manifest.settings))
    try:
        settings = json.loads(text or "{}")
    except ValueError:
        return [*odd, fail(f"{manifest.settings} is not JSON", "Claude Code does not read it either")]
    if not (isinstance(settings, dict) and settings.get("enabledPlugins", {}).get(f"{PLUGIN}@{PLUGIN}")):
        odd.append(fail(f"{manifest.settings} does not enable the plugin", _AGAIN))
    changed = [path for path, body in place.files().items() if read_text(path) != body]
    if changed:
        odd.append(warn(f"{changed[0]} is not as this version writes it", _AGAIN))
    return odd


CLAUDE_CODE_CHECKS = (CheckRow("claude code", _program, 40.0), CheckRow("claude code plugin", _plugin, 20.0))
"""They start a program, which takes its time."""
