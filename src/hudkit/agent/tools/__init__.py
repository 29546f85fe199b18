"""The tools of a session: what the model may call, each with its arguments, its needs and its limits.

A call goes: `tool.read(arguments)`, `tool.needs(...)` to the permissions, `let_in(needs, area)` once they are given,
then `carry_out`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from hudkit.agent.area import Area
from hudkit.agent.tools.finding import GLOB, GREP
from hudkit.agent.tools.reading import READ
from hudkit.agent.tools.shell import BASH
from hudkit.agent.tools.skill import SKILL
from hudkit.agent.tools.todos import TODO
from hudkit.agent.tools.tool import Arguments, Context, Limits, Need, Result, Tool, carry_out, in_thread
from hudkit.agent.tools.writing import EDIT, WRITE

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (READ, WRITE, EDIT, GLOB, GREP, BASH, TODO, SKILL)}
"""The tools by name, in the order in which a model is told of them."""


def let_in(needs: Iterable[Need], area: Area) -> None:
    """Open an area to what was permitted outside of it."""
    for need in needs:
        if need.kind == "outside":
            for value in need.values:
                area.grant(Path(value))


__all__ = [
    "TOOLS",
    "Arguments",
    "Context",
    "Limits",
    "Need",
    "Result",
    "Tool",
    "carry_out",
    "in_thread",
    "let_in",
]
