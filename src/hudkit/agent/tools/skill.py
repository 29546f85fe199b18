"""The tool `skill`: the text of a skill that the prompt names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated

from msgspec import Meta

from hudkit.agent.area import echo
from hudkit.agent.text import shown
from hudkit.agent.tools.tool import Arguments, Context, Need, Result, Tool
from hudkit.errors import ToolError

_NAMES = 50


class Wanted(Arguments, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=64, description="The skill's name, as the prompt tells it.")]


def _needs(arguments: Wanted, context: Context) -> Sequence[Need]:  # noqa: ARG001 (all tools are asked alike)
    return (Need("skill", (arguments.name,), f"the skill {echo(arguments.name)}"),)


async def _skill(arguments: Wanted, context: Context) -> Result:
    known = {skill.name: skill for skill in context.skills}
    skill = known.get(arguments.name)
    if skill is None:
        near = get_close_matches(arguments.name, known, 3) or list(known)[:10]
        hint = f"There are: {', '.join(near)}" if near else "This session has none"
        raise ToolError(f"there is no skill {echo(arguments.name)}", hint=hint)
    try:
        names = sorted(os.listdir(skill.folder))[:_NAMES]  # noqa: PTH208 (names only)
    except OSError:
        names = []
    beside = ", ".join(shown(name).replace("\n", "\\n") for name in names if name != "SKILL.md")
    files = f"\n\nIts folder is {shown(str(skill.folder))}" + (f", with {beside}" if beside else "")
    return Result(f"Skill {skill.name} (from the {skill.level}):\n\n{skill.text}{files}", skill.name)


SKILL = Tool("skill", "Get the text of one of the skills that the prompt names.", Wanted, _skill, _needs)
