"""What a custom section is given of the state: plain values, without times and numbers of events."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from hudkit.lazy import blake2b
from hudkit.sections.items import ItemList, ItemMark
from hudkit.sections.state import HudState
from hudkit.sections.table import SECTIONS

READABLE_FIELDS: Final = tuple(spec.name for spec in SECTIONS if spec.readable)
"""Fields of the state that a section may read: those that change with the work, and not with every call."""


def section_inputs(state: HudState, reads: tuple[str, ...]) -> dict[str, Any]:
    """Return the fields that a section reads, by name, as plain values: all that it sees.

    Lists of items are lists of dicts with every field, other fields are dicts. Of where an item comes from only its
    origin is given; no times and no sequence numbers, of anything: they would make the section run at every event.
    """
    return {name: _plain(getattr(state, name)) for name in reads}


def inputs_digest(values: dict[str, Any]) -> tuple[str, int]:
    """Return sixteen hex digits that stand for what is given, and its bytes as JSON."""
    body = msgspec.json.encode(values)
    return blake2b(body, digest_size=8).hexdigest(), len(body)


def _plain(value: Any) -> Any:
    if isinstance(value, ItemList):
        return [_plain(item) for item in value]
    if isinstance(value, ItemMark):
        return value.origin.value
    if isinstance(value, msgspec.Struct):
        # A program sees the names that leave the process: ours may change.
        names = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        fields = {encoded: getattr(value, name) for name, encoded in names}
        plain = {name: _plain(field) for name, field in fields.items() if name != "seq" and not name.endswith("_at")}
        if "mark" in plain:
            plain["origin"] = plain.pop("mark")
        return plain
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return msgspec.to_builtins(value)
