"""What happens in a session in lines: tool calls, changed files, what a turn used, and how full the window is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from hudkit.agent.records import FileDiff, ReportedUsage, StoredCall, StoredMessage
from hudkit.agent.terminal.screen import clip, one_line, printable
from hudkit.sections.document_builder import short_token_count
from hudkit.tokens import Window

_SUBJECTS = {
    "bash": "command",
    "read": "path",
    "write": "path",
    "edit": "path",
    "glob": "pattern",
    "grep": "pattern",
    "task": "description",
    "skill": "name",
}
"""The argument that says what a call is about; of other tools it is the first text."""

_DIFF = 12
"""Lines of a change that are shown; of a longer one, so many less one."""

_STATES = {"completed": ("✓", "green"), "error": ("✗", "red"), "running": ("·", "yellow"), "pending": ("·", "dim")}


def _subject(call: StoredCall) -> str:
    """What a call is about, in one line."""
    arguments = call.arguments
    if call.tool in ("hud", "memory"):
        inner = arguments.get("args")
        return one_line(f"{arguments.get('tool', '')} {_first(inner) if isinstance(inner, dict) else ''}")
    if call.tool == "todo":
        return one_line(call.title)
    return one_line(str(arguments.get(_SUBJECTS.get(call.tool, ""), "") or _first(arguments)))


def call_line(call: StoredCall, columns: int, *, inner: bool = False) -> Text:
    """Return a call in one line: its state, the tool, what it is about, and how it ended."""
    failed = call.status == "error" or bool(call.metadata.get("exit"))
    mark, style = _STATES["error" if failed else call.status]
    head = f"{'│ ' if inner else ''}{mark} {one_line(call.tool)} "
    end = _outcome(call)
    about = _subject(call)
    room = columns - cell_len(head)
    end = clip(end, max(room // 2, room - cell_len(about) - 2))
    about = clip(about, room - (cell_len(end) + 2 if end else 0))
    text = Text()
    text.append(head, style).append(about)
    if end:
        text.append("  " if about else "").append(end, "red" if failed else "dim")
    return text


def _outcome(call: StoredCall) -> str:
    """How a call ended: what went wrong, or how long it took where that was noticeable."""
    if call.status == "error":
        return one_line(call.error)
    if call.status != "completed":
        return ""
    took = (call.ended - call.started) / 1000 if call.started else 0.0
    remarks = [f"exit code {call.metadata['exit']}"] if call.metadata.get("exit") else []
    remarks += [duration_text(took)] if took >= 0.1 else []
    return ", ".join(remarks)


def diff_lines(diffs: Sequence[FileDiff], columns: int) -> Iterator[Text]:
    """Yield changed files: the lines that changed, as far as they are few; of new files, how many they have."""
    for diff in (diff for diff in diffs if diff.diff):
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
        yield Text.assemble("    ", (_clip_code(line, columns - 4), "green" if line[0] == "+" else "red"))
    if len(lines) > most:
        yield Text(f"    … {len(lines) - most} more lines", "dim")


def window_text(used: int | None, window: Window) -> str:
    """Return the window in use: `used/limit %`; what is not known, or assumed, is said to be."""
    limit = short_token_count(window.limit_tokens) + (" assumed" if window.source == "assumed" else "")
    if used is None:
        return f"window unknown/{limit}"
    return f"window {short_token_count(used)}/{limit} {used * 100 / window.limit_tokens:.0f}%"


def usage_text(usage: ReportedUsage, cost: float | None) -> str:
    """Return tokens in and out, how much of the input came from the cache, and the cost where prices are known."""
    share = f" ({usage.cache_read * 100 / usage.prompt:.0f}% cached)" if usage.cache_read and usage.prompt else ""
    money = "" if cost is None else f", ${cost:.4f}" if cost < 0.1 else f", ${cost:.2f}"
    return f"{_tokens(usage.prompt)} in{share}, {_tokens(usage.output)} out{money}"


def total_usage(messages: Sequence[StoredMessage]) -> ReportedUsage | None:
    """Return the usage of several responses together; `None` where none of them has any."""
    reported = [usage.usage for usage in messages if usage.usage is not None]
    if not reported:
        return None
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return ReportedUsage(None, *(sum(getattr(usage, name) for usage in reported) for name in names))


def duration_text(took: float) -> str:
    """Return a duration: `0.4s`, `12s`, `3m 05s`."""
    if took < 10:
        return f"{took:.1f}s"
    return f"{took:.0f}s" if took < 60 else f"{int(took) // 60}m {int(took) % 60:02d}s"


def counted(count: int, word: str) -> str:
    """Return a number with its noun: `1 call`, `3 calls`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def _tokens(count: int) -> str:
    return f"{count / 1000:.1f}k" if count >= 1000 else str(count)


def _first(values: dict[str, object]) -> str:
    return next((value for value in values.values() if isinstance(value, str)), "")


def _clip_code(line: str, columns: int) -> str:
    """A line of code with its spaces, in one line of so many cells."""
    line = printable(line.rstrip("\r"))
    return line if cell_len(line) <= columns else f"{set_cell_size(line, columns - 1)}…"
