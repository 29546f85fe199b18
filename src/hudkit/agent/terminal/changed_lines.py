"""Changes of files in lines for a terminal: what calls have changed, and what a call would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from hudkit.agent.records import FileDiff
from hudkit.agent.terminal.screen import clip, printable

_DIFF = 12
"""Lines of a change that are shown; of a longer one, so many less one."""


def diff_lines(diffs: Sequence[FileDiff], columns: int) -> Iterator[Text]:
    """Yield changed files: the lines that changed, as far as they are few; of new files, how many they have."""
    changed_files = [diff for diff in diffs if diff.diff]
    for diff in changed_files:
        yield Text(f"  {clip(diff.path, columns - 16)} +{diff.added} -{diff.removed}", "dim")
        lines = diff.diff.split("\n")
        if not any(line.startswith("@@ -0,0 ") for line in lines[:4]):
            changed = [line for line in lines if line.startswith(("+", "-")) and not line.startswith(("+++", "---"))]
            yield from _changes(changed, columns)
    if others := [diff.path for diff in diffs if not diff.diff]:
        yield Text("  " + clip("changed: " + ", ".join(others), columns - 2), "dim")


def proposed_changes(tool: str, arguments: Mapping[str, Any], columns: int) -> list[Text]:
    """Return what a call of `edit` or `write` would change, as far as it is short."""
    old = str(arguments.get("old", "")) if tool == "edit" else ""
    new = str(arguments.get({"edit": "new", "write": "content"}.get(tool, ""), ""))
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    return list(_changes(lines, columns))


def _changes(lines: Sequence[str], columns: int) -> Iterator[Text]:
    most = _DIFF if len(lines) <= _DIFF else _DIFF - 1
    for line in lines[:most]:
        yield Text.assemble("    ", (clip_code(line, columns - 4), "green" if line[0] == "+" else "red"))
    if len(lines) > most:
        yield Text(f"    … {len(lines) - most} more lines", "dim")


def clip_code(line: str, columns: int) -> str:
    """Return a line of code with its spaces, in one line of at most so many cells."""
    line = printable(line.rstrip("\r"))
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 1)}…"
