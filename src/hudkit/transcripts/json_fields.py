"""Fields out of another program's JSON: bounded, and empty where they are missing or of another kind.

Nothing here raises: a host's next version may write anything, and a transcript must still be readable.
"""

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
    """Return a JSON value with its texts, lists and nesting bounded."""
    if isinstance(value, str):
        return bounded_text(value)
    if isinstance(value, dict):
        items = list(value.items())[:MAX_ITEMS] if depth else ()
        return {bounded_text(str(key)): bounded_value(item, depth - 1) for key, item in items}
    if isinstance(value, list):
        return [bounded_value(item, depth - 1) for item in value[:MAX_ITEMS]] if depth else []
    return value


def object_field(data: Json, key: str) -> dict[str, Any]:
    """Return an object within an object; the empty one where there is none."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def string_field(data: Json, key: str) -> str:
    """Return a text, bounded; empty where there is none."""
    value = data.get(key)
    return bounded_text(value) if isinstance(value, str) else ""


def number_field(data: Json, key: str) -> int:
    """Return a count or a time; 0 for what is negative, not finite or not a number."""
    value = data.get(key)
    # 2**53: up to there every JSON reader has the same whole number.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)


def bounded_text(text: str) -> str:
    """Return at most `MAX_TEXT` characters of a text, the rest counted in a line at its end; always valid UTF-8."""
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters]"
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
