"""Tools of any agent in the words that `hudkit.ingest` knows: what reads, writes, edits, runs, plans. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
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

NAMES: Mapping[str, str] = {alias: name for name, aliases in _TOOLS.items() for alias in aliases}
"""What a tool of an agent is called here, by its name in small letters."""

_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: (?:status|code|value))?(?: of)?[:= ]\s*(\d{1,3})\b\W*$", re.I)
"""How an exit status is told in the last line of an output."""


def as_known(part: ToolPart, names: Mapping[str, str] = {}) -> ToolPart:
    """A call in the words that are heard; one of an unknown tool stays as it is. `names` says what further tools are
    (`{"load_text": "read"}`), and comes first."""
    name = names.get(part.tool) or NAMES.get(part.tool.lower(), "")
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
