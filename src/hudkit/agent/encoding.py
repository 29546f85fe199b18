"""Records as JSON; what JSON or UTF-8 cannot carry (a lone surrogate, a huge number) as visible text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from hudkit.log.codec import printable

_MOST_INT = 2**63 - 1


def encoded(record: msgspec.Struct | Mapping[str, Any]) -> bytes:
    """The JSON of a record of ours, or of plain data."""
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):
        return msgspec.json.encode(_carried(msgspec.to_builtins(record, builtin_types=(bytes,))))


def _carried(value: Any, depth: int = 0) -> Any:
    if depth > 100:
        return "(nested too deep)"
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool) or value is None or isinstance(value, float | bytes):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _MOST_INT else str(value)[:1000]
    if isinstance(value, dict):
        return {printable(str(key)): _carried(one, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_carried(one, depth + 1) for one in value]
    return printable(str(value))
