"""Plain data: the values that the data formats carry, and which they refuse.

`None`, booleans, strings of Unicode scalar values, numbers (integers of up to 4,300 digits, finite floats), arrays
(lists and tuples, read back as lists) and objects with string keys, at most `DEEPEST` levels. Objects are equal
whatever the order of their keys; a number is its mathematical value, so 1.0 and 1 are the same.
"""

from __future__ import annotations

import math
import re
from typing import TypeAlias

from hudkit.errors import FormatError

Plain: TypeAlias = bool | int | float | str | list["Plain"] | tuple["Plain", ...] | dict[str, "Plain"] | None
"""Plain data."""

DEEPEST = 100
"""Levels of arrays and objects; deeper ones are refused by every format alike."""

LONGEST = 4_300
"""Digits of an integer: as many as Python reads and writes."""

_TOO_LONG = 10**LONGEST
_SURROGATE = re.compile("[\ud800-\udfff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands: the keys and indices from the root."""


def check(value: object, name: str, path: Path = ()) -> None:
    """Raise `FormatError` where `value` is no plain data; it names the format, the path and what would be right."""
    if len(path) > DEEPEST:
        raise refused(name, path, "is nested too deeply", f"At most {DEEPEST} levels")
    # A boolean is an integer to Python: it comes first.
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _check_text(value, name, path)
    elif isinstance(value, int):
        if abs(value) >= _TOO_LONG:
            raise refused(name, path, "is an integer of too many digits", f"At most {LONGEST} digits")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise refused(name, path, f"is {value}", "Numbers are finite; say None where there is none")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            check(item, name, (*path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise refused(name, path, f"has a key of type {type(key).__name__}", "Keys are strings")
            _check_text(key, name, (*path, key))
            check(item, name, (*path, key))
    else:
        hint = "Plain data is None, bool, int, float, str, list, tuple and dict"
        raise refused(name, path, f"is of type {type(value).__name__}", hint)


def _check_text(text: str, name: str, path: Path) -> None:
    if not text.isascii() and (match := _SURROGATE.search(text)):
        problem = f"has a lone surrogate U+{ord(match.group()):04X} at character {match.start()}"
        raise refused(name, path, problem, "Strings are Unicode scalar values; replace it with U+FFFD")


def refused(name: str, path: Path, problem: str, hint: str) -> FormatError:
    """Return the error of a value that the format `name` cannot carry, with its path and what would be right."""
    place = _spell(path)
    return FormatError(f"{name}: {place} {problem}", hint=hint, format=name, path=place)


def _spell(path: Path) -> str:
    """Return a path as it is written in messages: `$.rooms[0].id`."""
    parts = ["$"]
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        else:
            parts.append(f".{part}" if _NAME.fullmatch(part) else f"[{part!a}]")
    return "".join(parts)


def same(value: object, other: object) -> bool:
    """Return whether two plain values are equal; a boolean is no number, a list equals a tuple of the same items."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(same, value, other))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(same(item, other[key]) for key, item in value.items())
    return value == other
