"""A text for a bug report: what the checks said, without the user's places, names and secrets."""

from __future__ import annotations

import getpass
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path

import hudkit
from hudkit.cli.checks.check import Check
from hudkit.cli.checks.environment import CheckEnvironment
from hudkit.hosts.wire import PROTOCOL
from hudkit.log.secret_patterns import without_secrets

_END = r"(?=[/\s:;,.'\"`()]|$)"


def report(checks: Iterable[Check], here: CheckEnvironment, mended: Iterable[str] = ()) -> str:
    """Return versions, platform and checks as lines of text, to be read before they are sent."""
    lines = [
        "hudkit doctor report",
        f"hudkit {hudkit.__version__}, protocol {PROTOCOL}",
        f"Python {platform.python_version()} ({platform.python_implementation()})",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        "",
    ]
    for check in checks:
        lines.append(f"{check.verdict.upper()}  {check.name}: {check.words}")
        lines += [f"      {check.hint}"] if check.hint else []
    lines += [f"DONE  {line}" for line in mended]
    return "\n".join(_cleaned(line, here) for line in lines) + "\n"


def _cleaned(line: str, here: CheckEnvironment) -> str:
    """A line without the home (`~`), the directory that the command ran in, the user's name in paths, and secrets."""
    for path, shown in _places(here):
        line = re.sub(re.escape(path) + _END, lambda _, shown=shown: shown, line)  # type: ignore[misc]
    name = _user()
    if name and name != "root":
        line = re.sub(rf"(?<=[/\-]){re.escape(name)}(?=[/\s:;,.'\"`()]|$)", "<user>", line)
    return without_secrets(line)


def _places(here: CheckEnvironment) -> list[tuple[str, str]]:
    """Paths and what is shown for them, the longest first: a project is mostly within the home."""
    homes = {str(here.home), str(Path("~").expanduser()), here.env.get("HOME", "")}
    named = dict.fromkeys(homes, "~") | {os.path.realpath(home): "~" for home in homes if home}
    inside = str(here.directory) not in named and here.directory != Path("/")
    named |= {str(here.directory): "<directory>", os.path.realpath(here.directory): "<directory>"} if inside else {}
    longest_first = [(path, shown) for path, shown in named.items() if len(path) > 1]
    return sorted(longest_first, key=lambda row: len(row[0]), reverse=True)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""
