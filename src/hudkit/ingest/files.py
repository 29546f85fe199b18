"""Paths as a host's tools name them: relative to the session's directory, and read out of patches."""

from __future__ import annotations

import re
from posixpath import normpath

MAX_PATH = 4_096
"""Longer names are no paths: they are left out, because a cut path would name another file."""

_CHANGED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)[ \t]*$", re.M)


def relative(path: str, directory: str) -> str:
    """`path` from `directory` where it lies inside it, else as it was given; empty where it is no path."""
    if not path.strip() or len(path) > MAX_PATH:
        return ""
    base = normpath(directory) if directory else ""
    full = normpath(path)
    if base and base != "/" and full.startswith(base + "/"):
        return full[len(base) + 1 :]
    return path if path.startswith("/") else full


def patched(patch: str) -> list[str]:
    """The files that a patch in the form of `apply_patch` adds, updates or moves to, each once, in order."""
    return list(dict.fromkeys(match[1] for match in _CHANGED.finditer(patch)))
