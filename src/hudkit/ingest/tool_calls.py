"""A finished tool call in neutral form: what was read, written, edited, run or planned, whatever the host calls it.

Hosts hand over `ToolPart`s with the tool's name and arguments as the model wrote them. `neutral_part` gives a tool of
any agent its common name; `finished_call` reads the arguments, under each of the names that agents have for them.
Everything else in `hudkit.ingest` sees a `FinishedCall` only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from posixpath import normpath
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from hudkit.transcripts import ToolPart

MAX_PATH = 4_096
"""Characters of a path (Linux allows no more). A longer one is left out, because a cut path would name another
file."""

Kind = Literal["read", "write", "edit", "patch", "shell", "todos", "task", "other"]

# Common name of a tool: the names that agents give it, in small letters.
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
_COMMON_NAMES: Mapping[str, str] = {alias: name for name, aliases in _TOOLS.items() for alias in aliases}

# Only common names have a kind. A host's tool that is merely called alike (`Bash` in a recorded Claude session) stays
# `other` until its adapter says what it is, because its result may read differently.
_KINDS: Mapping[str, Kind] = {
    "read": "read",
    "write": "write",
    "edit": "edit",
    "multiedit": "edit",
    "patch": "patch",
    "apply_patch": "patch",
    "bash": "shell",
    "todowrite": "todos",
    "task": "task",
}

# Arguments by the names that agents give them. The first that is there counts.
_PATH = ("filePath", "path", "file_path", "filepath", "file", "filename", "file_name", "target_file")
_CONTENT = ("content", "text", "contents", "file_text", "body")
_OLD = ("oldString", "old", "old_string", "old_str", "old_text", "search")
_NEW = ("newString", "new", "new_string", "new_str", "new_text", "replacement")
_COMMAND = ("command", "cmd", "script", "commands")
_WORKDIR = ("workdir", "cwd", "directory")
_PATCH = ("patchText", "patch", "input", "patch_text")
_AGENT = ("subagent_type", "agent", "agent_name", "subagent")
_TASK = ("description", "task", "prompt", "input", "instructions")
_MAIN_ARGUMENT = ("url", "path", "filePath", "pattern", "command", "query", "description", "name")
"""Where a tool is of no known kind, the argument that tells two calls apart: the first that is a text."""

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Move to): (.+?)[ \t]*$", re.M)
_EXIT = re.compile(r"\bexit(?:ed)?(?: with)?(?: (?:status|code|value))?(?: of)?[:= ]\s*(\d{1,3})\b\W*$", re.I)
"""An exit status at the end of an output."""
_EXIT_WINDOW = 200  # characters of the output's end: further up, a program only speaks of a status


class FinishedCall(msgspec.Struct, frozen=True, kw_only=True):
    """One finished tool call. A field that the call does not have is empty, or `None` where that makes a difference.

    `tool` is the name as messages show it, `main_argument` what tells two calls of an unknown tool apart, `ended` the
    time in Unix ms (0: not known), `partial` says that only some lines of a file were read. `part` is a digest of
    what a read asked for beside the path, the same for two calls that ask for the same.
    """

    id: str
    tool: str
    kind: Kind
    failed: bool
    path: str | None = None
    content: str | None = None
    edits: tuple[tuple[str, str], ...] = ()
    """Pairs of old and new text."""
    patch: str | None = None
    command: str | None = None
    workdir: str = ""
    exit_status: int | None = None
    todos: object = None
    child_session: str = ""
    agent: str = ""
    """The kind of a sub-agent."""
    task: str = ""
    """What a sub-agent is asked for."""
    partial: bool = False
    part: str = ""
    main_argument: str = ""
    output: str = ""
    error: str = ""
    ended: int = 0


def finished_call(part: ToolPart) -> FinishedCall:
    """Read a finished call of a host and return it in neutral form. Never raises.

    Arguments of a wrong type count as missing.
    """
    arguments, kind = part.input, _KINDS.get(part.tool, "other")
    exit_status = part.metadata.get("exit")
    child = part.metadata.get("sessionId") or part.metadata.get("session")
    is_task = kind == "task"
    return FinishedCall(
        id=part.call_id,
        tool=part.tool,
        kind=kind,
        failed=part.status == "error",
        path=_text(arguments, _PATH) if kind in ("read", "write", "edit", "patch") else None,
        content=_text(arguments, _CONTENT) if kind == "write" else None,
        edits=_edits(arguments) if kind == "edit" else (),
        patch=_text(arguments, _PATCH) if kind == "patch" else None,
        command=_text(arguments, _COMMAND) if kind == "shell" else None,
        workdir=(_text(arguments, _WORKDIR) or "") if kind == "shell" else "",
        # `True` is an `int` in Python, and no exit status
        exit_status=exit_status if type(exit_status) is int else None,
        todos=arguments.get("todos"),
        child_session=child if is_task and isinstance(child, str) else "",
        agent=(_text(arguments, _AGENT) or str(part.metadata.get("agent", ""))) if is_task else "",
        task=(_text(arguments, _TASK) or "") if is_task else "",
        partial=bool(arguments.get("offset") or arguments.get("limit")),
        part=_part(arguments) if kind == "read" else "",
        main_argument=_main_argument(arguments),
        output=part.output,
        error=part.error,
        ended=part.end,
    )


def neutral_part(part: ToolPart, names: Mapping[str, str] = {}) -> ToolPart:
    """Return a call under the common name of its tool; one of an unknown tool comes back as it is.

    `names` says what further tools are (`{"load_text": "read"}`), and comes first. A shell's exit status is taken
    from the end of its output where the host does not report it.
    """
    name = names.get(part.tool) or _COMMON_NAMES.get(part.tool.lower(), "")
    if not name or (name == "todowrite" and not isinstance(part.input.get("todos"), list)):
        return part
    if name == "bash" and "exit" not in part.metadata and (status := _EXIT.search(part.output[-_EXIT_WINDOW:])):
        return replace(part, tool=name, metadata={**part.metadata, "exit": int(status[1])})
    if name == "task" and part.tool != name:
        # The tool's own name says which agent it is.
        return replace(part, tool=name, metadata={"agent": part.tool, **part.metadata})
    return replace(part, tool=name)


def relative_path(path: str, directory: str) -> str:
    """Return `path` from `directory` where it lies inside, else as it was given; empty where it is not a path."""
    if not path.strip() or len(path) > MAX_PATH:
        return ""
    base = normpath(directory) if directory else ""
    full = normpath(path)
    if base and base != "/" and full.startswith(base + "/"):
        return full[len(base) + 1 :]
    return path if path.startswith("/") else full


def patched_files(patch: str) -> list[str]:
    """Return the files that a patch in the form of `apply_patch` adds, updates or moves to, each once, in order."""
    return list(dict.fromkeys(match[1] for match in _PATCHED.finditer(patch)))


def one_line(text: str, limit: int) -> str:
    """Return `text` with each run of white space as one space, cut to `limit` characters with an ellipsis."""
    # A megabyte of output is not split whole for a line of 200 characters.
    line = " ".join(text[: limit * 8].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def read_path(call: FinishedCall, directory: str) -> str:
    """Return the file that a call read, relative to `directory`; empty where it read none, or listed a directory."""
    if call.kind != "read" or call.path is None or "<type>directory</type>" in call.output[:2_000]:
        return ""
    return relative_path(call.path, directory)


def edited_paths(call: FinishedCall, directory: str) -> tuple[str, ...]:
    """Return the files that a call wrote, edited or patched, relative to `directory`; none where it failed."""
    if call.failed:
        return ()
    paths: Sequence[str] = ()
    if call.kind in ("write", "edit") and call.path is not None:
        paths = [call.path]
    elif call.patch is not None:
        paths = patched_files(call.patch)
    relative = (relative_path(path, directory) for path in paths)
    return tuple(path for path in relative if path)


def _part(arguments: Mapping[str, Any]) -> str:
    """A digest of the arguments without the path; empty where there are none."""
    rest = {name: value for name, value in arguments.items() if name not in _PATH and value is not None}
    if not rest:
        return ""
    text = json.dumps(rest, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def _edits(arguments: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    edits = arguments.get("edits")
    pairs = []
    for edit in edits if isinstance(edits, list) else [arguments]:
        if not isinstance(edit, dict):
            continue
        old, new = _text(edit, _OLD), _text(edit, _NEW)
        if old is not None and new is not None:
            pairs.append((old, new))
    return tuple(pairs)


def _main_argument(arguments: Mapping[str, Any]) -> str:
    for name in _MAIN_ARGUMENT:
        value = arguments.get(name)
        if value and isinstance(value, str):
            return value
    return ""


def _text(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    value = next((arguments[name] for name in names if name in arguments), None)
    return value if isinstance(value, str) else None
