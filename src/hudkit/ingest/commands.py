"""Which shell commands are recorded, and how each ended.

A command that only looks (`ls`, `grep`, `git status`) is not: what it showed is gone after a compaction, so that it
has to run again. How a command ended is what its verdicts say (`failures`): exit status 0 alone does not tell that
all of `pytest; make` passed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import Literal

from hudkit.ingest.failures import CallVerdict, ShellStatement, parse_statements
from hudkit.ingest.tool_calls import FinishedCall
from hudkit.log.payloads import CommandRan

MAX_COMMAND = 200
"""Characters of a command that are recorded: enough to know it by."""

_LOOKING = frozenset(
    (
        "[", "[[", "ag", "awk", "cat", "cmp", "cut", "df", "diff", "du", "egrep", "fd", "fgrep", "file",
        "find", "grep", "head", "history", "hostname", "id", "jq", "less", "ls", "lsof", "more", "nl", "printenv",
        "ps", "rg", "sed", "sort", "stat", "tail", "test", "tr", "tree", "type", "uname", "uniq", "wc", "which",
        "whoami",
    )
)  # fmt: skip
"""Programs that only show something."""

_WRITING = {
    "find": ("-delete", "-exec", "-ok"),
    "sed": ("-i", "--in-place"),
    "sort": ("-o", "--output"),
}
"""Options with which some of them change files."""

_GIT_LOOKING = frozenset(
    ("blame", "diff", "grep", "log", "ls-files", "ls-tree", "rev-parse", "shortlog", "show", "status")
)
_GIT_LISTING = frozenset(("branch", "remote"))
"""Commands of git that list, and with a name or another option change something."""

_LISTS = frozenset(("-a", "-r", "-v", "-vv", "--all", "--list", "--show-current", "--verbose"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def ran_command(call: FinishedCall, verdicts: Sequence[CallVerdict], directory: str) -> CommandRan | None:
    """Return what to record of a finished call; `None` for what is no command, only looks, or was not allowed to run.

    `verdicts` are those of `judge_call`.
    """
    was_refused = call.failed and not verdicts
    if call.kind != "shell" or call.command is None or was_refused:
        return None
    statements = parse_statements(call.command, cwd=directory)
    if all(map(_only_looks, statements)):
        return None
    outcome: Literal["", "passed", "failed"] = "passed" if verdicts else ""
    if any(verdict.error for verdict in verdicts):
        outcome = "failed"
    return CommandRan(_first_line(call.command), outcome, call.exit_status, call.id)


def _only_looks(statement: ShellStatement) -> bool:
    stages = [list(words) for is_pipe, words in groupby(statement.words, lambda word: word == "|") if not is_pipe]
    return all(map(_is_looking, stages))


def _is_looking(words: Sequence[str]) -> bool:
    program = words[0].rsplit("/", 1)[-1]
    behind = words[1:]
    if _ASSIGNMENT.match(program) or program == "env":  # `X=1 make` and `env X=1 make` run make
        return not behind or _is_looking(behind)
    if program == "git":
        lists = bool(behind) and behind[0] in _GIT_LISTING and _LISTS.issuperset(behind[1:])
        return bool(behind) and (behind[0] in _GIT_LOOKING or lists)
    return program in _LOOKING and not any(word.startswith(_WRITING.get(program, ())) for word in behind)


def _first_line(command: str) -> str:
    """The first line that is not empty; with an ellipsis where there is more."""
    first, *others = command[: MAX_COMMAND * 8].strip().splitlines()
    if len(first) > MAX_COMMAND:
        return first[: MAX_COMMAND - 1] + "…"
    return f"{first} …" if others else first
