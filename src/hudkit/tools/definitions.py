"""What a model's list of tools says of `hud` and `memory`; each call of a model pays for it.

The shape is flat and the operation is one of an enum, because that is what models call rightly (figures in
`docs/decisions/0017-flat-tool.md`). Nothing is required, and further properties are not forbidden: other arguments of
an operation, 001's `{"tool": …, "args": {…}}` and other spellings pass. Every property has a description, since a
chat template refuses a definition without; it is empty where the name says it all.
"""

from __future__ import annotations

from typing import Any

from hudkit.tools.operation import OPERATIONS

_OF_THE_PAST = (
    "search", "messages", "message", "sessions", "compactions", "output",
)  # fmt: skip
"""The operations in the definition of `memory`, the most useful first; both tools take all."""

_RARE = frozenset(
    {
        "sections.define", "sections.remove", "sections.list", "project.set", "project.add", "project.get",
        "files.open", "files.close", "children", "compare", "export", "import", "constraints.confirm",
        "preferences.confirm", "preferences.remove", "preferences.list", "notes.confirm",
        "decisions.confirm", "update", "clear", "task.update", "task.clear", "steps.reorder",
        "files.edit", "recent.list", "subagents.list", "shared.list", "shared.report",
        "todos.list", "progress.list", "task.get", "plans", "context", "summary", "history",
    }
)  # fmt: skip
"""What help alone names: an operation in a definition costs three tokens in every call."""


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"description": description, "type": "string", **more}


def _definition(name: str, description: str, operations: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    chosen = _text(enum=operations)
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {"operation": chosen, **properties},
        },
    }


def _hud_operations() -> list[str]:
    """The writing operations first: a model that is unsure takes one of the first."""
    others = {*_OF_THE_PAST, *_RARE}
    own = [each for each in OPERATIONS.values() if each.name not in others]
    return [each.name for each in own if each.writes] + [each.name for each in own if not each.writes]


DEFINITIONS: tuple[dict[str, Any], ...] = (
    _definition(
        "hud",
        "Outlives compaction: constraints (rules), decisions, steps (plan), notes (facts); see help.",
        _hud_operations(),
        {
            "text": _text(),
            "item": _text("Id or words."),
            "details": _text("Why."),
        },
    ),
    _definition(
        "memory",
        "Finds what was said, also before a compaction.",
        list(_OF_THE_PAST),
        {
            "query": _text(),
            "session": _text(),
            "item": _text(),
        },
    ),
)
"""Name, description and JSON Schema of the tools in a model's list."""

ROUTER_NAMES = tuple(str(definition["name"]) for definition in DEFINITIONS)
