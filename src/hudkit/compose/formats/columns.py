"""Columns and rows: JSON without white space in which an array of like objects is `{"cols": [...], "rows": [[...]]}`.

Rows are made even first (`formats.even`): a column that not every row has is `name?`, with null where a row has none.
A key of the document that is `cols`, with any number of `$` before it, gets one more `$`; so only tables have `cols`.
"""

from __future__ import annotations

import re
from typing import cast

from hudkit.compose.formats import json_text
from hudkit.compose.formats.even import FEWEST, even, uneven
from hudkit.compose.formats.plain import Path, Plain, check, refused
from hudkit.errors import FormatError

NAME = "columns"

_COLS = re.compile(r"\$*cols")


def encode(value: object) -> str:
    """The text of plain data, with tables; raises `FormatError` for what is no plain data."""
    check(value, NAME)
    return json_text.encode(fold(even(value)), indent=None, name=NAME)


def decode(text: str) -> Plain:
    """The plain data of a text with tables; raises `FormatError` where it is no JSON, or a table is not well-
    formed."""
    return uneven(unfold(json_text.decode(text, name=NAME)), NAME)


def fold(value: Plain) -> Plain:
    """Plain data with each array of objects that have the same keys, in the same order, as a table."""
    if isinstance(value, dict):
        return {f"${key}" if _COLS.fullmatch(key) else key: fold(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if columns := _columns(value):
            rows = cast("list[dict[str, Plain]]", value)
            return {
                "cols": cast("list[Plain]", columns),
                "rows": [_cells(row, columns) for row in rows],
            }
        return [fold(item) for item in value]
    return value


def _cells(row: dict[str, Plain], columns: list[str]) -> list[Plain]:
    return [fold(row[key]) for key in columns]


def unfold(value: Plain, path: Path = ()) -> Plain:
    """The inverse of `fold`; raises `FormatError` where a table is not well-formed."""
    if isinstance(value, list | tuple):
        return [unfold(item, (*path, place)) for place, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    if "cols" in value:
        return _unfolded(value, path)
    return {
        key[1:] if key.startswith("$") and _COLS.fullmatch(key) else key: unfold(item, (*path, key))
        for key, item in value.items()
    }


def _columns(value: list[Plain] | tuple[Plain, ...]) -> list[str]:
    """The columns of an array that is a table; none where it is not."""
    if len(value) < FEWEST or not isinstance(value[0], dict) or not value[0]:
        return []
    columns = list(value[0])
    return columns if all(isinstance(row, dict) and list(row) == columns for row in value) else []


def _unfolded(table: dict[str, Plain], path: Path) -> list[Plain]:
    if table.keys() != {"cols", "rows"}:
        raise _malformed(path, f"is a table with the keys {', '.join(map(ascii, table))}")
    columns, rows = table["cols"], table["rows"]
    if not isinstance(columns, list) or not isinstance(rows, list):
        raise _malformed(path, "is a table whose cols or rows are no array")
    names = [name for name in columns if isinstance(name, str)]
    if len(names) != len(columns) or len(set(names)) != len(names):
        raise _malformed((*path, "cols"), "are not names that differ")
    found: list[Plain] = []
    for place, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(names):
            size = len(row) if isinstance(row, list) else type(row).__name__
            raise _malformed((*path, "rows", place), f"has {size} cells for {len(names)} columns")
        cells = zip(names, row, strict=True)
        found.append({name: unfold(cell, (*path, "rows", place, name)) for name, cell in cells})
    return found


def _malformed(path: Path, what: str) -> FormatError:
    return refused(NAME, path, what, 'A table is {"cols": [names], "rows": [[one cell a column], …]}')
