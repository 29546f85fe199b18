r"""Columns and rows: arrays of like objects as tables, in JSON without white space and, by `align_rows`, in TOON.

A model reads a table as well as objects, and each key is paid for once. Real objects are seldom all alike, so their
rows are aligned first: objects of one array get the same keys in the same order. That is done in three steps.

1. The orders of the rows' keys are merged into one that agrees with each of them. A key goes in after the one that
   stands before it in its row: of `a c` and `a b c` comes `a b c`. Rows that contradict each other (`a b`, `b a`)
   stay objects.
2. A key that not every row has is written `key?`, and null stands where a row has none.
3. With `flat`, for a table whose cells are single values (TOON), a cell that is none becomes JSON text, under `key~`.

An array stays as it is where most cells would be empty or JSON text, and where a key that not every row has holds
null in some row. Every key of the document that ends in one of `?~!` gets a `!`, so that each document can be
restored.

The document `[{"id": 1, "text": "a"}, {"id": 2, "to": [3], "text": "b"}]` is, aligned and flat, and as columns, where
a cell may be an array:

    [{"id": 1, "to~": null, "text": "a"}, {"id": 2, "to~": "[3]", "text": "b"}]
    {"cols":["id","to?","text"],"rows":[[1,null,"a"],[2,[3],"b"]]}

In the format `columns` a key of the document that is `cols`, with any number of `$` before it, gets one more `$`; so
only tables have `cols`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from hudkit.compose.formats import json_text
from hudkit.compose.formats.plain import Path, Plain, check, refused
from hudkit.errors import FormatError

_NAME = "columns"

_FEWEST_ROWS = 2
"""Rows that make a table."""

_WIDEST = 64
"""Columns of a table; wider ones stay objects."""

_MARKS = ("?", "~", "!")
_COLS = re.compile(r"\$*cols")


def encode(value: object) -> str:
    """Return the text of plain data, with tables; raises `FormatError` for what is no plain data."""
    check(value, _NAME)
    return json_text.encode(_fold(align_rows(value)), indent=None, name=_NAME)


def decode(text: str) -> Plain:
    """Return the plain data of a text with tables.

    Raises `FormatError` where it is no JSON, or a table is not well-formed.
    """
    return restore_rows(_unfold(json_text.decode(text, name=_NAME), ()), _NAME)


def align_rows(value: object, *, flat: bool = False) -> Plain:
    """Return plain data with aligned rows where that can be restored; `flat` rows have single values only."""
    if isinstance(value, dict):
        return {_mark_own(key): align_rows(item, flat=flat) for key, item in value.items()}
    if isinstance(value, list | tuple):
        rows = _aligned(cast("Sequence[dict[str, object]]", value), flat) if _are_rows(value) else None
        return [align_rows(item, flat=flat) for item in value] if rows is None else cast(Plain, rows)
    return cast(Plain, value)


def restore_rows(value: Plain, name: str, path: Path = ()) -> Plain:
    """Return the plain data that `align_rows` was called with.

    Raises `FormatError`, under the format `name`, where an object has one key twice, or a cell is not the JSON text
    that its key says it is.
    """
    if isinstance(value, list | tuple):
        return [restore_rows(item, name, (*path, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    restored: dict[str, Plain] = {}
    seen: set[str] = set()
    for written, item in value.items():
        key = written[:-1].removesuffix("!") if written.endswith(("?", "~")) else written.removesuffix("!")
        if key in seen:
            raise refused(name, path, f"names {key!r} twice", "A key stands once in an object, with one mark or none")
        seen.add(key)
        if written.endswith("~"):
            if item is not None:
                restored[key] = _from_text(item, name, (*path, key))
        elif not (written.endswith("?") and item is None):
            restored[key] = restore_rows(item, name, (*path, key))
    return restored


def _from_text(cell: Plain, name: str, path: Path) -> Plain:
    hint = "A cell of a column marked ~ is null or JSON text"
    if not isinstance(cell, str):
        raise refused(name, path, "is no text", hint)
    try:
        return json_text.decode(cell)
    except FormatError as error:
        raise refused(name, path, f"is no JSON: {error.message}", hint) from None


def _mark_own(key: str) -> str:
    """Return a key of the document, with a `!` where its end could be taken for a mark."""
    return f"{key}!" if key.endswith(_MARKS) else key


def _are_rows(value: Sequence[object]) -> bool:
    return len(value) >= _FEWEST_ROWS and all(isinstance(item, dict) and item for item in value)


def _aligned(rows: Sequence[dict[str, object]], flat: bool) -> list[dict[str, Plain]] | None:
    """Return aligned rows, or `None` where the array stays as it is."""
    columns = _merge_orders([tuple(row) for row in rows])
    # Where most cells would be empty, the nulls cost more than the keys.
    if columns is None or 2 * sum(map(len, rows)) < len(columns) * len(rows):
        return None
    aligned: list[dict[str, Plain]] = [{} for _ in rows]
    for column in columns:
        cells = [row[column] for row in rows if column in row]
        optional = len(cells) < len(rows)
        written = _mark_own(column)
        as_text = flat and not _are_single(cells, optional)
        if as_text:
            # JSON in a string escapes every quote: as the rule it costs more than objects.
            if 2 * sum(isinstance(cell, list | tuple | dict) for cell in cells) > len(rows):
                return None
            written = f"{written}~"
        elif optional:
            # A null of the document could not be told from a row without the key.
            if None in cells:
                return None
            written = f"{written}?"
        for row, target in zip(rows, aligned, strict=True):
            if column not in row:
                target[written] = None
            elif as_text:
                target[written] = json_text.encode(row[column], indent=None)
            else:
                target[written] = align_rows(row[column], flat=flat)
    return aligned


def _are_single(cells: Sequence[object], optional: bool) -> bool:
    """Return whether the cells of a column are single values, or objects that a table of TOON can hold."""
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


def _merge_orders(orders: Sequence[tuple[str, ...]]) -> list[str] | None:
    """Return one order of keys that agrees with each of `orders`.

    `None` where they contradict each other, or the keys are too many.
    """
    if len({key for keys in orders for key in keys}) > _WIDEST:
        return None
    columns: list[str] = []
    for keys in dict.fromkeys(orders):
        index = 0
        for key in keys:
            if key in columns:
                index = columns.index(key) + 1
            else:
                columns.insert(index, key)
                index += 1
    indices: Mapping[str, int] = {key: index for index, key in enumerate(columns)}
    for keys in dict.fromkeys(orders):
        merged = [indices[key] for key in keys]
        if merged != sorted(merged):
            return None
    return columns


def _fold(value: Plain) -> Plain:
    """Return plain data with each array of objects that have the same keys, in the same order, as a table."""
    if isinstance(value, dict):
        return {f"${key}" if _COLS.fullmatch(key) else key: _fold(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if columns := _columns(value):
            rows = cast("list[dict[str, Plain]]", value)
            return {
                "cols": cast("list[Plain]", columns),
                "rows": [[_fold(row[key]) for key in columns] for row in rows],
            }
        return [_fold(item) for item in value]
    return value


def _columns(value: list[Plain] | tuple[Plain, ...]) -> list[str]:
    """Return the columns of an array that is a table; none where it is not."""
    if len(value) < _FEWEST_ROWS or not isinstance(value[0], dict) or not value[0]:
        return []
    columns = list(value[0])
    return columns if all(isinstance(row, dict) and list(row) == columns for row in value) else []


def _unfold(value: Plain, path: Path) -> Plain:
    """Return what `_fold` was called with; raises `FormatError` where a table is not well-formed."""
    if isinstance(value, list | tuple):
        return [_unfold(item, (*path, index)) for index, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "cols" in value:
        return _unfold_table(value, path)
    return {
        key[1:] if key.startswith("$") and _COLS.fullmatch(key) else key: _unfold(item, (*path, key))
        for key, item in value.items()
    }


def _unfold_table(table: dict[str, Plain], path: Path) -> list[Plain]:
    if table.keys() != {"cols", "rows"}:
        raise _malformed(path, f"is a table with the keys {', '.join(map(ascii, table))}")
    columns, rows = table["cols"], table["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise _malformed(path, "is a table whose cols or rows are no array")
    names = [name for name in columns if isinstance(name, str)]
    if len(names) != len(columns) or len(set(names)) != len(names):
        raise _malformed((*path, "cols"), "are not names that differ")
    objects: list[Plain] = []
    for index, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            size = len(row) if isinstance(row, list) else type(row).__name__
            raise _malformed((*path, "rows", index), f"has {size} cells for {len(names)} columns")
        cells = zip(names, row, strict=True)
        objects.append({name: _unfold(cell, (*path, "rows", index, name)) for name, cell in cells})
    return objects


def _malformed(path: Path, problem: str) -> FormatError:
    return refused(_NAME, path, problem, 'A table is {"cols": [names], "rows": [[one cell a column], …]}')
