r"""TOON (Token-Oriented Object Notation, specification 4.4), by `toon-format`, strict and guarded.

An array of objects with the same keys and single values is a table: `[{"id": 1, "ok": true}, {"id": 2, "ok": false}]`
is

    [2]{id,ok}:
      1,true
      2,false

TOON knows numbers by value: 1.0 is read back as 1; a negative zero has no spelling and is refused. A table has one
order of keys, so the order of keys within its rows is not kept. What was written is read back and compared before it
is given away (docs/decisions/0008-formats.md).
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, cast

from hudkit.compose.formats.columns import align_rows, restore_rows
from hudkit.compose.formats.plain import Path, Plain, check, refused, same
from hudkit.errors import FormatError

_NAME = "toon"


Delimiter: TypeAlias = Literal[",", "\t", "|"]


def encode(value: object, *, even: bool = False, indent: int = 2, delimiter: Delimiter = ",") -> str:
    """Return the TOON text of plain data, indented by `indent` spaces, no line break at the end.

    `delimiter` stands between the values of arrays and rows; a tab costs fewer quotes where texts have commas. With
    `even`, rows that lack keys are aligned first (`columns.align_rows`), so that more arrays are tables; read it
    back with `even` too. Raises `FormatError` for what is no plain data, or cannot be said.
    """
    library = _library()
    check(value, _NAME)
    _check_zeros(value, ())
    shape = align_rows(value, flat=True) if even else cast(Plain, value)
    try:
        text = str(library.dumps(shape, indent_size=indent, delimiter=delimiter))
    except (TypeError, ValueError, RecursionError) as error:
        raise refused(_NAME, (), f"cannot be written: {error}", "Write it as JSON") from None
    # The library is young: a value that it changes without a word would be lost in a conversation.
    if not same(decode(text, even=even, indent=indent), value):
        raise refused(_NAME, (), "does not survive being written and read", "Write it as JSON, and report it")
    return text


def decode(text: str, *, even: bool = False, indent: int = 2, strict: bool = True) -> Plain:
    """Return the plain data of a TOON text; raises `FormatError` with the line where it is no TOON.

    `indent` is how many spaces a level has. Without `strict`, a wrong count of rows, blank lines in arrays and uneven
    indentation are let through, as the specification says.
    """
    library = _library()
    try:
        value: Plain = library.loads(text, indent_size=indent, strict=strict)
    except library.ToonDecodeError as error:
        line = error.line or 1
        raise FormatError(f"{_NAME}: line {line}: {error.msg}", format=_NAME, line=line) from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{_NAME}: {error}", format=_NAME) from None
    check(value, _NAME)
    return restore_rows(value, _NAME) if even else value


def _library() -> Any:
    # Imported at the first use: most processes write no TOON.
    import toon_format

    return toon_format


def _check_zeros(value: object, path: Path) -> None:
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        raise refused(_NAME, path, "is a negative zero", "TOON has none (specification, data model); say 0")
    if isinstance(value, dict):
        for key, item in value.items():
            _check_zeros(item, (*path, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _check_zeros(item, (*path, index))
