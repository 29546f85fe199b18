"""The tool `todo`: the session's list of what is to be done, read or replaced as a whole."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hudkit.agent.records import Todo
from hudkit.agent.tools.tool import Arguments, Context, Need, Result, Tool
from hudkit.compose import visible
from hudkit.errors import ToolError


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=500, description="What is to be done, in one line.")]
    status: Literal["pending", "in_progress", "completed", "cancelled"] = "pending"
    priority: Literal["", "high", "medium", "low"] = ""


class Todos(Arguments, frozen=True):
    todos: Annotated[list[Entry], Meta(max_length=100, description="The whole new list.")] | None = None


def _needs(arguments: Todos, context: Context) -> Sequence[Need]:  # noqa: ARG001 (all tools are asked alike)
    return (Need("todo", ("*",), "the list of todos"),)


async def _todo(arguments: Todos, context: Context) -> Result:
    if context.store is None:
        raise ToolError("this session keeps no todos")
    if arguments.todos is not None:
        todos = [Todo(visible(one.content), one.status, one.priority) for one in arguments.todos]
        await asyncio.to_thread(context.store.set_todos, context.session_id, todos)
    found = context.store.todos(context.session_id)
    left = sum(todo.status in ("pending", "in_progress") for todo in found)
    lines = [f"- [{todo.status}] {todo.content}{f' ({todo.priority})' if todo.priority else ''}" for todo in found]
    return Result("\n".join(lines) or "The list is empty.", f"{left} of {len(found)} todos are open")


TODO = Tool(
    "todo",
    "Read the list of todos, or replace it by the list that is given. Keep one in progress at a time.",
    Todos,
    _todo,
    _needs,
)
