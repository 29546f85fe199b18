"""The operation `help`, and the words for an operation that help and the reference share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hudkit.compose import shorten, visible
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.secret_patterns import without_secrets
from hudkit.tools.answer_text import MAX_QUOTED_CHARS, PageArguments, quote
from hudkit.tools.arguments import operation_schema, value_words
from hudkit.tools.operation import (
    ALIASES,
    MAX_TEXT_BYTES,
    OPERATIONS,
    Operation,
    OperationAlias,
    OperationArguments,
    OperationResult,
    ShortText,
    find_operation,
    reading,
)
from hudkit.tools.spellings import shown_arguments, shown_name

_UNGROUPED = "session"
"""How help calls the group of the operations without a point in their name."""


class _HelpArguments(OperationArguments, frozen=True):
    operation: Annotated[ShortText | None, Meta(description="An operation or a group (notes); else all.")] = None
    router: Annotated[Literal["hud", "memory"], Meta(description="Whose spellings come first.")] = "hud"


@reading("help", _HelpArguments, example={"operation": "notes.add"})
def _help(_: SessionCore, args: _HelpArguments) -> OperationResult:
    """List the operations, or tell one in detail."""
    if args.operation is None:
        return OperationResult(_overview(args.router), {"operations": [*OPERATIONS, *ALIASES]})
    operation = find_operation(args.operation)
    if operation is not None:
        return OperationResult(
            _detail(operation, args.router), {"operation": operation.name, "schema": operation_schema(operation)}
        )
    group = operation_groups().get(args.operation.removesuffix(".*"))
    if group is None:
        error = unknown_operation(args.operation)
        near = error.details["near"]
        instead = ("help", {"operation": near[0]} if isinstance(near, list) and near else {})
        raise OperationError(error.message, hint=error.hint, **error.details, instead=instead)
    lines = [f"- {_signature(member)}: {member.summary}" for member in group]
    return OperationResult("\n".join(lines), {"operations": [member.name for member in group]})


def operation_groups() -> dict[str, list[Operation | OperationAlias]]:
    """Return every operation and alias with a point in its name by the part before it; the rest under `session`."""
    table: dict[str, list[Operation | OperationAlias]] = {}
    every: list[Operation | OperationAlias] = [
        *OPERATIONS.values(),
        *(alias for alias in ALIASES.values() if "." in alias.name),
    ]
    for each in every:
        group, point, _ = each.name.partition(".")
        table.setdefault(group if point else _UNGROUPED, []).append(each)
    return table


def unprefixed_aliases() -> list[OperationAlias]:
    """Return the spellings of 000, by name."""
    return sorted((alias for alias in ALIASES.values() if "." not in alias.name), key=lambda alias: alias.name)


_PURPOSES = {
    "task": "what you work on",
    "constraints": "rules that hold",
    "preferences": "what the user likes",
    "blockers": "what stops you",
    "steps": "your plan",
    "decisions": "what was settled, and why; get for …",
    "errors": "what failed",
    "notes": "facts that took work to find",
    "files": "what you read and edit",
    "project": "its defaults",
    "shared": "between you and sub-agents",
    "todos": "the host's list",
    "progress": "test runs, commits, plan files",
    "recent": "commands",
    "subagents": "at work",
    "compacted": "the last summary",
    "sections": "your own parts",
    _UNGROUPED: "the whole state, no group",
}
"""What each group is for, in a few words; help is read in a conversation and paid for again in each later call."""

_FINDING = ("search", "messages", "message", "output", "sessions", "children", "compare", "summary", "compactions",
            "plans", "context")  # fmt: skip
"""The operations on what was said and done, the most useful first."""


def _overview(router: str) -> str:
    """All operations, a line a group with what it is for; the router's own first."""
    head = f"Operations are called as group.operation; in detail: {help_call(router, 'notes.add')}"
    own = []
    for group, members in operation_groups().items():
        names = [member.name.removeprefix(f"{group}.") for member in members if member.name not in _FINDING]
        purpose = f" ({_PURPOSES[group]})" if group in _PURPOSES else ""
        head_word = "other" if group == _UNGROUPED else group
        own.append(f"- {head_word}{purpose}: {', '.join(names)}")
    finding = f"- what was said in all sessions (no group): {', '.join(_FINDING)}"
    lines = (finding, *own) if router == "memory" else (*own, finding)
    also = "- also: " + ", ".join(alias.name for alias in unprefixed_aliases())
    return "\n".join((head, *lines, also))


def _signature(operation: Operation | OperationAlias) -> str:
    """`notes.add(text)`; paging is left out."""
    # Every list can be paged: said once, not with each.
    untold = (*PageArguments.__struct_fields__, "router")
    fields = [field for field in msgspec.structs.fields(operation.arguments) if field.name not in untold]
    shown = [(shown_name(operation, field.name), field.required) for field in fields]
    inner = ", ".join(name if required else f"{name}?" for name, required in shown)
    return f"{operation.name}({inner})" if inner else operation.name


def _detail(operation: Operation | OperationAlias, router: str) -> str:
    """One operation: what it does, its arguments, an example."""
    lines = [f"{operation.name}: {operation.summary}" + (f" {operation.more}" if operation.more else "")]
    lines += [f"- {name} ({kind}): {meaning}" for name, kind, meaning in argument_rows(operation)]
    lines.append(f"\nExample: {call_text(router, operation.name, operation.example)}")
    return "\n".join(lines)


def argument_rows(operation: Operation | OperationAlias) -> list[tuple[str, str, str]]:
    """Return name, kind and description of each argument."""
    schema = operation_schema(operation)
    table = []
    for name, node in schema.get("properties", {}).items():
        need = "required" if name in schema.get("required", ()) else _default(node)
        most = f", at most {MAX_TEXT_BYTES:,} bytes" if node.get("maxLength") == MAX_TEXT_BYTES else ""
        table.append((shown_name(operation, name), f"{value_words(node)}{most}, {need}", node.get("description", "")))
    return table


def _default(node: Mapping[str, Any]) -> str:
    value = node.get("default")
    return "optional" if value in (None, "", []) else f"default {json.dumps(value)}"


def call_text(router: str, name: str, args: Mapping[str, Any]) -> str:
    """Return a call as an agent writes it; long texts are shortened, secrets left out."""
    operation = find_operation(name)
    shown = shown_arguments(operation, args) if operation is not None else args
    text = json.dumps({"operation": name, **{key: _short(value) for key, value in shown.items()}}, ensure_ascii=False)
    return f"{router}({visible(without_secrets(text))})"


def help_call(router: str, name: str) -> str:
    """Return a call that asks about an operation or a group: whoever sends it changes nothing."""
    return call_text(router, "help", {"operation": name})


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return shorten(value, MAX_QUOTED_CHARS)
    return [_short(entry) for entry in value[:5]] if isinstance(value, list | tuple) else value


def unknown_operation(name: str) -> OperationError:
    """Return the error that there is no such operation; its `near` are operations with like names."""
    # Within a group that exists, its operations are nearer than a like name elsewhere.
    group = operation_groups().get(name.partition(".")[0]) if "." in name else None
    from difflib import get_close_matches  # only for a name that is wrong

    if group:
        names = [member.name for member in group]
        near = get_close_matches(name, names, 3) or names[:1]
        hint = f"{name.partition('.')[0]} has: {', '.join(names)}."
    else:
        near = get_close_matches(name, (*OPERATIONS, *ALIASES), 3)
        hint = f"Did you mean {', '.join(near)}?" if near else ""
    return OperationError(f"there is no operation {quote(name, 60)}", hint=hint, near=near)
