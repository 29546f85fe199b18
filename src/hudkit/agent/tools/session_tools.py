"""The tools on the session itself: `todo`, the list of what is to be done, and `skill`, the text of a skill."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hudkit.agent.file_text import escape_hidden
from hudkit.agent.records import Todo
from hudkit.agent.tools.tool import RequiredPermission, Tool, ToolContext, ToolInput, ToolOutcome
from hudkit.agent.workspace import quote
from hudkit.compose import visible
from hudkit.errors import ToolError


class _TodoEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=500, description="What is to be done, in one line.")]
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["", "high", "medium", "low"] = ""


class _TodoInput(ToolInput, frozen=True):
    todos: Annotated[list[_TodoEntry], Meta(max_length=100, description="The whole new list.")] | None = None


def _todo_permissions(arguments: _TodoInput, context: ToolContext) -> Sequence[RequiredPermission]:  # noqa: ARG001 (all tools are asked alike)
    return (RequiredPermission("todo", ("*",), "the list of todos"),)


async def _todo(arguments: _TodoInput, context: ToolContext) -> ToolOutcome:
    if context.store is None:
        raise ToolError("this session keeps no todos")
    if arguments.todos is not None:
        todos = [Todo(visible(entry.content), entry.status, entry.priority) for entry in arguments.todos]
        # a durable write may wait for the disk
        await asyncio.to_thread(context.store.set_todos, context.session_id, todos)
    stored = context.store.todos(context.session_id)
    left = sum(todo.status in ("pending", "in_progress") for todo in stored)
    lines = [f"- [{todo.status}] {todo.content}{f' ({todo.priority})' if todo.priority else ''}" for todo in stored]
    return ToolOutcome("\n".join(lines) or "The list is empty.", f"{left} of {len(stored)} todos are open")


TODO = Tool(
    "todo",
    "Read the list of todos, or replace it by the list that is given. Keep one in progress at a time.",
    _TodoInput,
    _todo,
    _todo_permissions,
)


_MAX_NAMES = 50


class _SkillInput(ToolInput, frozen=True):
    name: Annotated[str, Meta(min_length=1, max_length=64, description="The skill's name, as the prompt tells it.")]


def _skill_permissions(arguments: _SkillInput, context: ToolContext) -> Sequence[RequiredPermission]:  # noqa: ARG001 (all tools are asked alike)
    return (RequiredPermission("skill", (arguments.name,), f"the skill {quote(arguments.name)}"),)


async def _skill(arguments: _SkillInput, context: ToolContext) -> ToolOutcome:
    by_name = {skill.name: skill for skill in context.skills}
    skill = by_name.get(arguments.name)
    if skill is None:
        # models misspell names; the hint is the call that would have been right
        near = get_close_matches(arguments.name, by_name, 3) or list(by_name)[:10]
        hint = f"There are: {', '.join(near)}" if near else "This session has none"
        raise ToolError(f"there is no skill {quote(arguments.name)}", hint=hint)
    try:
        names = sorted(os.listdir(skill.folder))[:_MAX_NAMES]  # noqa: PTH208 (names only)
    except OSError:
        names = []
    beside = ", ".join(escape_hidden(name).replace("\n", "\\n") for name in names if name != "SKILL.md")
    files = f"\n\nIts folder is {escape_hidden(str(skill.folder))}" + (f", with {beside}" if beside else "")
    return ToolOutcome(f"Skill {skill.name} (from the {skill.level}):\n\n{skill.text}{files}", skill.name)


SKILL = Tool(
    "skill",
    "Get the text of one of the skills that the prompt names.",
    _SkillInput,
    _skill,
    _skill_permissions,
    reads_only=True,
)
