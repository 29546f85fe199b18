"""The tools of a session: what the model may call, each with its arguments, its needs and its limits.

A call goes: `tool.parse(arguments)`, `tool.needs(...)` to the permissions, `grant_permitted(needs, workspace)` once
they are given, then `run_tool`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from hudkit.agent.tools.file_tools import EDIT, GLOB, GREP, READ, WRITE
from hudkit.agent.tools.function_tool import function_tool
from hudkit.agent.tools.session_tools import SKILL, TODO
from hudkit.agent.tools.shell_tool import BASH
from hudkit.agent.tools.tool import (
    RequiredPermission,
    Tool,
    ToolContext,
    ToolInput,
    ToolLimits,
    ToolOutcome,
    run_in_thread,
    run_tool,
)
from hudkit.agent.workspace import Workspace

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (READ, WRITE, EDIT, GLOB, GREP, BASH, TODO, SKILL)}
"""The tools by name, in the order in which a model is told of them."""


def grant_permitted(needs: Iterable[RequiredPermission], workspace: Workspace) -> None:
    """Open a workspace to what was permitted outside of it; return nothing."""
    for need in needs:
        if need.kind == "outside":
            for value in need.values:
                workspace.grant(Path(value))


__all__ = [
    "TOOLS",
    "RequiredPermission",
    "Tool",
    "ToolContext",
    "ToolInput",
    "ToolLimits",
    "ToolOutcome",
    "function_tool",
    "grant_permitted",
    "run_in_thread",
    "run_tool",
]
