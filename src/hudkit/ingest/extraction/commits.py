"""Commits, by what git says of them."""

from __future__ import annotations

import re

import msgspec

_COMMITS = re.compile(r"\bgit\b[^|;&\n]*\b(?:commit|cherry-pick|revert|merge|rebase|am)\b")
_MADE = re.compile(r"(?m)^\[([^\]\n]+?)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$")
_ONE_LINE = re.compile(r"(?m)^(?:\* )?([0-9a-f]{7,40}) (?:\([^)\n]*\) )?(\S.*)$")


class Commit(msgspec.Struct, frozen=True):
    """One commit: its short hash, its subject, and the branch where git tells it."""

    sha: str
    subject: str
    branch: str = ""


def commits(command: str, output: str) -> tuple[Commit, ...]:
    """The commits that a shell command made, by its output; a quiet one where a log is shown behind it."""
    if not _COMMITS.search(command):
        return ()
    found = tuple(
        Commit(sha, subject.strip(), "" if branch.startswith("detached") else branch)
        for branch, sha, subject in _MADE.findall(output)
    )
    if not found:  # said quietly: the log behind it has the subject that the command gave
        logged = ((sha, subject.strip()) for sha, subject in _ONE_LINE.findall(output))
        found = tuple(Commit(sha, subject) for sha, subject in logged if len(subject) > 2 and subject in command)[:1]
    return found
