"""The tools that an in-process host offers its agent, as JSON Schema: the two routers and the two that compact."""

from __future__ import annotations

from typing import Any

from hudkit.tools import DEFINITIONS as ROUTERS

_NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}

COMPACTORS: tuple[dict[str, Any], ...] = (
    {
        "name": "hud_compact",
        "description": "Compacts the conversation before the next step; `hud` survives. Refused below half a window.",
        "parameters": _NOTHING,
    },
    {"name": "memory_compact", "description": "The same as `hud_compact`.", "parameters": _NOTHING},
)
"""For hosts in which a compaction can be had."""

DEFINITIONS: tuple[dict[str, Any], ...] = (*ROUTERS, *COMPACTORS)
"""`name`, `description` and `parameters` of each."""
