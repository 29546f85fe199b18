"""What a custom section sees: the fields of the state that it reads, as plain values, and nothing else."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import msgspec

from hudkit.sections.items import Items, Mark
from hudkit.sections.state import HudState

MOST_GIVEN = 262_144
"""Bytes, as JSON, of what one section is given."""


def given(state: HudState, reads: tuple[str, ...]) -> dict[str, Any]:
    """The fields by name: lists of items as lists of dicts with every field, other fields as dicts.

    Of where an item comes from only its origin is given; no times and no sequence numbers, of anything.
    """
    return {name: _plain(getattr(state, name)) for name in reads}


def digest(values: dict[str, Any]) -> tuple[str, int]:
    """Sixteen hex digits that stand for what is given, and its bytes as JSON."""
    body = msgspec.json.encode(values)
    return blake2b(body, digest_size=8).hexdigest(), len(body)


def _plain(value: Any) -> Any:
    if isinstance(value, Items):
        return [_plain(item) for item in value]
    if isinstance(value, Mark):
        return value.origin.value
    if isinstance(value, msgspec.Struct):
        fields = (name for name in value.__struct_fields__ if name != "seq" and not name.endswith("_at"))
        plain = {name: _plain(getattr(value, name)) for name in fields}
        if "mark" in plain:
            plain["origin"] = plain.pop("mark")
        return plain
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return msgspec.to_builtins(value)
