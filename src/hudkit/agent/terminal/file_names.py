"""The files of a project for completion: what git knows or would add, or what is there where there is no git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from hudkit.compose import visible

_MOST_FILES = 20_000
_MOST_FOLDERS = 2_000
_MOST_OFFERED = 30
_SECONDS = 2.0
"""How long git may take; a person waits for it."""


def project_files(directory: Path) -> Sequence[str]:
    """Return the paths of files below a directory, relative to it and with `/`, at most some ten thousand.

    In a git repository these are the tracked files, and the others that `.gitignore` does not name; elsewhere all but
    hidden ones. A name that no terminal can show is left out.
    """
    listed = _from_git(directory)
    names = _walked(directory) if listed is None else listed
    return [name for name in names if visible(name) == name]


def matching_files(names: Sequence[str], typed: str) -> list[str]:
    """Return the paths that hold what is typed, in any case; those whose file name begins with it first."""
    wanted = typed.casefold()

    def rank(name: str) -> tuple[int, int, str]:
        folded = name.casefold()
        base = folded.rpartition("/")[2]
        place = 0 if folded.startswith(wanted) or base.startswith(wanted) else 1 if wanted in base else 2
        return place, len(name), name

    return sorted((name for name in names if wanted in name.casefold()), key=rank)[:_MOST_OFFERED]


def git_branch(directory: Path) -> str:
    """Return the branch that is checked out in a directory, a short commit where none is; empty without git."""
    branch = _git(directory, "symbolic-ref", "--short", "-q", "HEAD") or _git(
        directory, "rev-parse", "--short", "HEAD"
    )
    return (branch or b"").decode("utf-8", "replace").strip()


def _from_git(directory: Path) -> list[str] | None:
    listed = _git(directory, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
    if listed is None:
        return None
    names = listed.decode("utf-8", "surrogateescape").split("\0")[:_MOST_FILES]
    # a file that is deleted and not committed yet is still listed
    return [name for name in names if name and os.path.lexists(directory / name)]


def _git(directory: Path, *words: str) -> bytes | None:
    """What git prints; `None` where it fails, is not there, or takes too long."""
    try:
        # without locks: an index that is only looked at is not refreshed
        argv = ["git", "--no-optional-locks", "-C", str(directory), *words]
        done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _walked(directory: Path) -> list[str]:
    names: list[str] = []
    for folders, (folder, below, files) in enumerate(_folders(directory)):
        if folders >= _MOST_FOLDERS or len(names) >= _MOST_FILES:
            break
        below[:] = sorted(name for name in below if not name.startswith("."))
        names += [
            os.path.relpath(os.path.join(folder, name), directory)  # noqa: PTH118 (paths as text, and many of them)
            for name in sorted(files)
            if not name.startswith(".")
        ]
    return names[:_MOST_FILES]


def _folders(directory: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    return os.walk(directory)
