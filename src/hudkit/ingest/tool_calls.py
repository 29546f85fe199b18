"""Tools of any agent in the words that `hudkit.ingest` knows: what reads, writes, edits, runs, plans. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from posixpath import normpath
from typing import Any

from msgspec.structs import replace

from hudkit.transcripts import ToolPart

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "read": ("read", "read_file", "readfile", "view", "view_file", "open_file", "cat"),
    "write": ("write", "write_file", "writefile", "create_file", "save_file"),
    "edit": ("edit", "edit_file", "editfile", "str_replace", "replace_in_file", "str_replace_editor", "replace"),
    "bash": (
        "bash", "shell", "sh", "execute", "execute_command", "run", "run_command", "run_shell_command", "terminal",
        "shell_command", "local_shell",
    ),
    "apply_patch": ("apply_patch", "patch"),
    "todowrite": ("todowrite", "todo_write", "write_todos", "update_todos", "todo"),
}  # fmt: skip

_ARGUMENTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "read": {"filePath": ("path", "file_path", "filepath", "file", "filename", "file_name", "target_file")},
    "write": {
        "filePath": ("path", "file_path", "filepath", "file", "filename", "file_name", "target_file"),
        "content": ("text", "contents", "file_text", "body"),
    },
    "edit": {
        "filePath": ("path", "file_path", "filepath", "file", "filename", "file_name", "target_file"),
        "oldString": ("old", "old_string", "old_str", "old_text", "search"),
        "newString": ("new", "new_string", "new_str", "new_text", "replacement"),
    },
    "bash": {"command": ("cmd", "script", "commands"), "workdir": ("cwd", "directory", "workdir")},
    "apply_patch": {"patchText": ("patch", "input", "patch_text")},
    "todowrite": {},
}

TOOL_NAMES: Mapping[str, str] = {alias: name for name, aliases in _TOOLS.items() for alias in aliases}
"""What a tool of an agent is called here, by its name in small letters."""

_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: (?:status|code|value))?(?: of)?[:= ]\s*(\d{1,3})\b\W*$", re.I)
"""How an exit status is told in the last line of an output."""


def neutral_part(part: ToolPart, names: Mapping[str, str] = {}) -> ToolPart:
    """A call in the words that are heard; one of an unknown tool stays as it is. `names` says what further tools are
    (`{"load_text": "read"}`), and comes first."""
    name = names.get(part.tool) or TOOL_NAMES.get(part.tool.lower(), "")
    if not name:
        return part
    given: dict[str, Any] = dict(part.input)
    for known, aliases in _ARGUMENTS.get(name, {}).items():
        found = next((alias for alias in aliases if alias in given), "")
        if known not in given and found:
            given[known] = given.pop(found)
    if name == "todowrite" and not isinstance(given.get("todos"), list):
        return part
    if name == "bash" and "exit" not in part.metadata and (told := _EXIT.search(part.output[-200:])):
        return replace(part, tool=name, input=given, metadata={**part.metadata, "exit": int(told[1])})
    return replace(part, tool=name, input=given)


# --- Paths as a host's tools name them: relative to the session's directory, and read out of patches.


MAX_PATH = 4_096
"""Longer names are no paths: they are left out, because a cut path would name another file."""

_CHANGED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)[ \t]*$", re.M)


def relative_path(path: str, directory: str) -> str:
    """`path` from `directory` where it lies inside it, else as it was given; empty where it is no path."""
    if not path.strip() or len(path) > MAX_PATH:
        return ""
    base = normpath(directory) if directory else ""
    full = normpath(path)
    if base and base != "/" and full.startswith(base + "/"):
        return full[len(base) + 1 :]
    return path if path.startswith("/") else full


def patched_files(patch: str) -> list[str]:
    """The files that a patch in the form of `apply_patch` adds, updates or moves to, each once, in order."""
    return list(dict.fromkeys(match[1] for match in _CHANGED.finditer(patch)))


# --- Text on one line, cut to a length.


def one_line(text: str, limit: int) -> str:
    """`text` with every run of white space as one space, at most `limit` characters, an ellipsis where it was cut."""
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
