"""Checks of pi: which version it is, and whether our extension is in its folder as this version writes it."""

from __future__ import annotations

import re
import subprocess

from hudkit.cli.checks.check import CheckRow, Diagnosis, fail, good, gravest, warn
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.cli.checks.host_checks import missing_hooks
from hudkit.errors import ConfigError
from hudkit.hosts.installing.config_files import read_text
from hudkit.hosts.installing.user_environment import DAEMON_NEEDS, check_interpreter
from hudkit.hosts.node_plugin import read_paths
from hudkit.hosts.pi.extension_install import FIRST_VERSION, TRIED_VERSION, PiTarget, is_own_file, read_installed
from hudkit.hosts.pi.plugin import generate_extension

_AGAIN = "hudkit install pi"


def _target(here: CheckEnvironment) -> PiTarget:
    place = here.install
    return PiTarget(place.python, place.prefix, place.data, place.db, place.socket, place.env)


def _program(here: CheckEnvironment) -> Diagnosis:
    target = _target(here)
    if not target.manifest.exists():
        return good("not installed in pi")
    if target.program is None:
        return warn("pi is not found in PATH", "Install pi, or put it into PATH")
    try:
        done = subprocess.run(
            [str(target.program), "--version"],
            env={**here.env, "PI_OFFLINE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return warn(
            f"`{target.program} --version` gives no answer ({type(error).__name__})", "Is pi installed rightly?"
        )
    match = re.match(r"(\d+)\.(\d+)", done.stdout.strip())
    version = done.stdout.strip() or "unknown"
    if match is not None and tuple(map(int, match.groups())) < FIRST_VERSION:
        return fail(
            f"version {version} at {target.program} shows no requests to extensions", "Update pi to 0.87 or newer"
        )
    if version != TRIED_VERSION:
        hint = "It probably works; where it does not, say the version in a bug report"
        return warn(f"version {version} at {target.program}; hudkit is tried with {TRIED_VERSION}", hint)
    return good(f"version {version} at {target.program}")


def _extension(here: CheckEnvironment) -> Diagnosis:
    """Whether it is there as this version writes it, starts an interpreter that works, and is called by pi."""
    target = _target(here)
    try:
        manifest = read_installed(target)
        if manifest is None:
            return good("nothing is installed")
        text = read_text(target.extension)
        baked = read_paths(text) if text is not None and is_own_file(text) else None
        if text is None or baked is None:
            return fail(f"{target.extension} is not there, or not ours", _AGAIN)
        check_interpreter(baked[0].python, None, here.env, DAEMON_NEEDS)
    except ConfigError as error:
        return fail(error.message, f"{_AGAIN} ({error.hint})")
    odd: list[Diagnosis] = []
    if generate_extension(baked[0]) != text:
        odd.append(warn(f"{target.extension} is not as this version writes it", _AGAIN))
    for name, mine in {"data": target.data, "db": target.db, "socket": target.socket}.items():
        if getattr(baked[0], name) != str(mine):
            problem = f"the extension uses {getattr(baked[0], name)} (its {name}), this environment says {mine}"
            odd.append(warn(problem, f"Unset what says so (HUDKIT_…, XDG_…), or {_AGAIN}"))
    missing = missing_hooks(baked[0].socket, "pi")
    if missing:
        problem = f"pi does not call {', '.join(missing)}, so the HUD does not reach the agent"
        odd.append(fail(problem, "Update pi to 0.87 or newer, or hudkit"))
    return gravest(odd, str(target.extension))


PI_CHECKS: tuple[CheckRow, ...] = (CheckRow("pi", _program, 15.0), CheckRow("pi extension", _extension, 15.0))
"""Checks of pi; where hudkit is not installed in it, nothing is amiss."""
