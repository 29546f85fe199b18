"""Hosts' tool calls in the words that `finished_call` reads: names, exit statuses, sub-agents.

All tell a command's exit status within its output. Claude Code 2.1: an error that begins with `Exit code 1`. Codex
0.169: lines above the output, `Process exited with code 1` or `Exit code: 1`, then `Output:`. pi 1.3: a last
line `Command exited with code 1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from hudkit.transcripts import ToolPart

_CLAUDE_TOOLS = {
    "Read": "read",
    "Write": "write",
    "Edit": "edit",
    "MultiEdit": "multiedit",
    "NotebookEdit": "edit",
    "Bash": "bash",
    "TodoWrite": "todowrite",
    "Task": "task",
    "Agent": "task",
}
_CODEX_TOOLS = {
    "exec_command": "bash",
    "shell": "bash",
    "shell_command": "bash",
    "local_shell": "bash",
    "apply_patch": "apply_patch",
}

_CLAUDE_EXIT = re.compile(r"Exit code (\d{1,3})(?:\n|\Z)")
_CODEX_EXIT = re.compile(r"(?:Process exited with code|Exit code:) (-?\d{1,3})\b")
_PI_EXIT = re.compile(r"(?<!\n)\n*Command exited with code (\d{1,3})\Z")
_JSON_EXIT = re.compile(r"\n\[exit code (-?\d{1,3})\]\Z")
_OUTPUT = "\nOutput:\n"
_HEAD = 400
"""Characters at the begin of Codex's result in which the lines above the output end."""

_PATCH_COMMAND = re.compile(r"\s*apply_patch\b")


_OWN_TOOL = re.compile(r"(?:(?:mcp__)?\w*hud\w*__)?(?:hud|memory)(?:_compact)?")
"""Our tools, also by the names that hosts make of an MCP server's name and a tool's: `mcp__hudkit__memory`."""


def is_own_tool(name: str) -> bool:
    """Return whether a tool is one of the HUD's, which append their own events."""
    return _OWN_TOOL.fullmatch(name) is not None


def neutral_call(host: str, part: ToolPart) -> ToolPart:
    """Return a finished call of a host under its common name; of other hosts and tools as it is. Never raises."""
    reader = _READERS.get(host)
    return reader(part) if reader is not None and part.done else part


def _claude_call(part: ToolPart) -> ToolPart:
    name = _CLAUDE_TOOLS.get(part.tool, "")
    if name == "bash":
        exited = _CLAUDE_EXIT.match(part.error)
        if exited is not None:
            return _ran(part, int(exited[1]), part.error[exited.end() :])
        return replace(part, tool=name) if part.status == "error" else _ran(part, 0, part.output)
    if name == "task":
        if part.metadata.get("running") is not True:
            return replace(part, tool=name)
        # It goes on in the background; the host tells of its end in a message.
        session = part.metadata.get("sessionId", "")
        report = f'<task id="{session}" state="running"><task_result></task_result></task>'
        return replace(part, tool=name, output=report)
    if part.tool == "NotebookEdit":
        return replace(part, tool=name, input={**part.input, "file_path": part.input.get("notebook_path")})
    return replace(part, tool=name) if name else part


def _codex_call(part: ToolPart) -> ToolPart:
    name = _CODEX_TOOLS.get(part.tool, "")
    text = part.error or part.output
    head, separator, output = text[:_HEAD].partition(_OUTPUT)
    output = output + text[_HEAD:] if separator else text
    exited = _CODEX_EXIT.search(head) or _JSON_EXIT.search(text)
    status = int(exited[1]) if exited else None
    if name != "bash":
        return replace(part, tool=name) if name else part
    arguments = _with_command_text(part.input)
    part = replace(part, input=arguments)
    command = arguments.get("command") or arguments.get("cmd")
    if isinstance(command, str) and _PATCH_COMMAND.match(command):
        return replace(part, tool="apply_patch", input={"input": command})
    if status is None and part.status == "error":
        return replace(part, tool=name)
    return _ran(part, status, output)


def _pi_call(part: ToolPart) -> ToolPart:
    if part.tool not in ("bash", "powershell"):
        return part
    exited = _PI_EXIT.search(part.error)
    if exited is not None:
        return _ran(part, int(exited[1]), part.error[: exited.start()])
    return replace(part, tool="bash") if part.status == "error" else _ran(part, 0, part.output)


def _with_command_text(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with the command as one text: a list is what a shell was started with, or the words of one."""
    command = arguments.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return dict(arguments)
    is_shell = len(command) == 3 and command[1] in ("-lc", "-c")
    return {**arguments, "command": command[2] if is_shell else " ".join(command)}


def _ran(part: ToolPart, status: int | None, output: str) -> ToolPart:
    """A command that ran to its end, whatever its status is."""
    metadata = part.metadata if status is None else {**part.metadata, "exit": status}
    return replace(part, tool="bash", status="completed", output=output, error="", metadata=metadata)


_READERS: Mapping[str, Callable[[ToolPart], ToolPart]] = {
    "claude-code": _claude_call,
    "codex": _codex_call,
    "pi": _pi_call,
}
