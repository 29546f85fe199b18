"""What a model's list of tools says of `hud` and `memory`; each call of a model pays for it.

The shape is flat and the operation is one of an enum, because that is what models call rightly (figures in
`docs/decisions/0017-flat-tool.md`). Nothing is required and further properties are allowed: the other arguments of
an operation, 001's `{"tool": …, "args": {…}}` and other spellings pass. Every property has a description, since some
chat templates refuse a definition without.
"""

from __future__ import annotations

from typing import Any

from hudkit.tools.operation import OPERATIONS

_OF_THE_PAST = (
    "search", "messages", "message", "sessions", "compactions", "output", "plans", "children", "compare", "summary",
    "context", "history", "export", "import", "help",
)  # fmt: skip
"""The operations in the definition of `memory`, the most useful first; `hud` lists all others. Both take all."""

_OF_BOTH = ("search", "help")


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _definition(name: str, description: str, operations: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    chosen = _text("What to do.", enum=operations)
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": {"operation": chosen, **properties},
            "additionalProperties": True,
        },
    }


def _hud_operations() -> list[str]:
    """The writing operations first: a model that is unsure takes one of the first."""
    own = [each for each in OPERATIONS.values() if each.name not in _OF_THE_PAST or each.name in _OF_BOTH]
    return [each.name for each in own if each.writes] + [each.name for each in own if not each.writes]


_ITEM = "The entry that is meant: its id, or words of its text."

DEFINITIONS: tuple[dict[str, Any], ...] = (
    _definition(
        "hud",
        "Records, changes and reads what outlives compaction: task, constraints (rules), decisions, steps (the "
        "plan), blockers, errors, notes (facts), files. The operation help tells more.",
        _hud_operations(),
        {
            "text": _text("What to record or look for, in full."),
            "texts": {"type": "array", "items": {"type": "string"}, "description": "Several to record at once."},
            "item": _text(_ITEM),
            "details": _text("Why it was decided."),
        },
    ),
    _definition(
        "memory",
        "Finds what was said or done in any session, also before a compaction. The operation help tells more.",
        list(_OF_THE_PAST),
        {
            "query": _text("Words to search for."),
            "session": _text("A session's id; without it, this session."),
            "item": _text("The id of a message or output, or the name of a plan."),
        },
    ),
)
"""Name, description and JSON Schema of the tools in a model's list."""

ROUTER_NAMES = tuple(str(definition["name"]) for definition in DEFINITIONS)
