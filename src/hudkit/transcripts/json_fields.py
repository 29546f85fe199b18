"""Fields out of foreign JSON: bounded, and empty where they are missing or of another kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_TEXT = 256 * 1024
"""Longest text that is kept of one field, in characters; the rest is counted in a line at its end."""

MAX_DEPTH = 12
"""Deepest nesting that is kept of a tool's input or metadata."""

MAX_ITEMS = 2_000
"""Most items that are kept of one list or mapping in a tool's input or metadata."""

Json = Mapping[str, Any]


def bounded_value(value: Any, depth: int = MAX_DEPTH) -> Any:
    """A JSON value with its texts, lists and nesting bounded."""
    if isinstance(value, str):
        return bounded_text(value)
    if isinstance(value, dict):
        kept = list(value.items())[:MAX_ITEMS] if depth else ()
        return {bounded_text(str(key)): bounded_value(item, depth - 1) for key, item in kept}
    if isinstance(value, list):
        return [bounded_value(item, depth - 1) for item in value[:MAX_ITEMS]] if depth else []
    return value


def object_field(data: Json, key: str) -> dict[str, Any]:
    """An object within an object; the empty one where there is none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def string_field(data: Json, key: str) -> str:
    """A text, bounded; empty where there is none."""
    value = data.get(key)
    return bounded_text(value) if isinstance(value, str) else ""


def number_field(data: Json, key: str) -> int:
    """A count or a time; what is negative, not finite or no number is 0."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)


def bounded_text(text: str) -> str:
    """A text of at most `MAX_TEXT` characters, and what is left out of it counted; one that UTF-8 can carry."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters]"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
