"""Rows made even: objects of one array get the same keys in the same order, so that they can stand as a table.

A key that not every row has is written `key?`, and null stands where a row has none. Flat rows also have cells that
are no single value as JSON text, under `key~`. Every key of the document that ends in one of `?~!` gets a `!`, so
that each document can be restored. An array stays as it is where rows order their keys against each other, where most
cells would be empty or (in flat rows) JSON text, and where a key that not every row has holds null in some row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from hudkit.compose.formats import json_text
from hudkit.compose.formats.plain import Path, Plain, refused
from hudkit.errors import FormatError

FEWEST = 2
"""Rows that make a table."""

WIDEST = 64
"""Columns of a table; wider ones stay objects."""

_MARKS = ("?", "~", "!")


def even(value: object, *, flat: bool = False) -> Plain:
    """Plain data with even rows where that can be restored; `flat` rows have single values only."""
    if isinstance(value, dict):
        return {_escaped(key): even(item, flat=flat) for key, item in value.items()}
    if isinstance(value, list | tuple):
        rows = _even_rows(cast("Sequence[dict[str, object]]", value), flat) if _are_rows(value) else None
        return [even(item, flat=flat) for item in value] if rows is None else cast(Plain, rows)
    return cast(Plain, value)


def uneven(value: Plain, name: str, path: Path = ()) -> Plain:
    """The inverse of `even`.

    Raises `FormatError`, under the format `name`, where an object has one key twice, or a cell is not the JSON text
    that its key says it is.
    """
    if isinstance(value, list | tuple):
        return [uneven(item, name, (*path, place)) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    made: dict[str, Plain] = {}
    seen: set[str] = set()
    for written, item in value.items():
        key = written[:-1].removesuffix("!") if written.endswith(("?", "~")) else written.removesuffix("!")
        if key in seen:
            raise refused(name, path, f"names {key!r} twice", "A key stands once in an object, with one mark or none")
        seen.add(key)
        if written.endswith("~"):
            if item is not None:
                made[key] = _from_text(item, name, (*path, key))
        elif not (written.endswith("?") and item is None):
            made[key] = uneven(item, name, (*path, key))
    return made


def _from_text(cell: Plain, name: str, path: Path) -> Plain:
    hint = "A cell of a column marked ~ is null or JSON text"
    if not isinstance(cell, str):
        raise refused(name, path, "is no text", hint)
    try:
        return json_text.decode(cell)
    except FormatError as error:
        raise refused(name, path, f"is no JSON: {error.message}", hint) from None


def _escaped(key: str) -> str:
    return f"{key}!" if key.endswith(_MARKS) else key


def _are_rows(value: Sequence[object]) -> bool:
    return len(value) >= FEWEST and all(isinstance(item, dict) and item for item in value)


def _even_rows(rows: Sequence[dict[str, object]], flat: bool) -> list[dict[str, Plain]] | None:
    """Even rows, or `None` where the array stays as it is."""
    columns = merged([tuple(row) for row in rows])
    if columns is None or 2 * sum(map(len, rows)) < len(columns) * len(rows):
        return None
    made: list[dict[str, Plain]] = [{} for _ in rows]
    for column in columns:
        cells = [row[column] for row in rows if column in row]
        optional = len(cells) < len(rows)
        written = _escaped(column)
        as_text = flat and not _single(cells, optional)
        if as_text:
            if 2 * sum(isinstance(cell, list | tuple | dict) for cell in cells) > len(rows):
                return None
            written = f"{written}~"
        elif optional:
            if None in cells:
                return None
            written = f"{written}?"
        for row, target in zip(rows, made, strict=True):
            if column not in row:
                target[written] = None
            elif as_text:
                target[written] = json_text.encode(row[column], indent=None)
            else:
                target[written] = even(row[column], flat=flat)
    return made


def _single(cells: Sequence[object], optional: bool) -> bool:
    """Whether the cells of a column are single values, or objects that a table of TOON can hold."""
    if not any(isinstance(cell, list | tuple | dict) for cell in cells):
        return True
    if optional or not all(isinstance(cell, dict) and cell for cell in cells):
        return False
    groups = cast("Sequence[dict[str, object]]", cells)
    names = list(groups[0])
    return all(
        list(group) == names and not any(isinstance(item, list | tuple | dict) for item in group.values())
        for group in groups
    )


def merged(orders: Sequence[tuple[str, ...]]) -> list[str] | None:
    """One order of keys that agrees with each of `orders`; `None` where they contradict each other, or are too
    many."""
    if len({key for keys in orders for key in keys}) > WIDEST:
        return None
    columns: list[str] = []
    for keys in dict.fromkeys(orders):
        place = 0
        for key in keys:
            if key in columns:
                place = columns.index(key) + 1
            else:
                columns.insert(place, key)
                place += 1
    places: Mapping[str, int] = {key: place for place, key in enumerate(columns)}
    for keys in dict.fromkeys(orders):
        at = [places[key] for key in keys]
        if at != sorted(at):
            return None
    return columns
