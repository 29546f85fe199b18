"""JSON (RFC 8259): writing plain data with hidden characters escaped, and reading it strictly.

Both ways have a quick path in C for what is nearly always there. What that path cannot vouch for, the exact one
decides: writing checks the value first, and a text that is refused is gone through again, token by token, to say
where and why.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import msgspec

from hudkit.compose.formats.plain import DEEPEST, LONGEST, Plain, check
from hudkit.compose.visible_text import break_markup, visible
from hudkit.errors import FormatError

_NAME = "json"

# Levels that the quick path looks through: what the exact one refuses is deeper by far.
_SHALLOW = 16
_LEAVES = frozenset((str, int, bool, type(None)))
_KEYS = frozenset((str,))
_PLAINEST, _GREATEST = 1e-3, 1e15
"""Floats between these (and no others) are written alike by `json.dumps` and msgspec."""
_write = msgspec.json.Encoder().encode

_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")
_TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<key>\s*:)?|(?P<word>-?\w[\w.+-]*)|[{}\[\]]', re.DOTALL)


def encode(value: object, *, indent: int | None = 2, name: str = _NAME) -> str:
    """Return JSON text; `indent` is in spaces, `None` writes no white space at all.

    Characters that hide or end a line and the first one of chat markup (`compose.visible`) are written as `\\uXXXX`,
    all others as they are, so that a reader gets every text unchanged. Raises `FormatError` for what is
    no plain data, under `name`.
    """
    text = _quickly(value, indent)
    if text is None:
        check(value, name)
        separators = (",", ":") if indent is None else None
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    if not text.isascii() or "\x7f" in text:
        text = _NOT_PLAIN.sub(_escape, text)
    return break_markup(text, lambda match: f"\\u{ord(match[0]):04x}")


def decode(text: str, *, name: str = _NAME) -> Plain:
    """Return the plain data that a JSON text says.

    Raises `FormatError` with line and column where it is no JSON, names a key twice in one object, has a number that
    is not finite, or is nested too deeply; with the path where a string has a lone surrogate.
    """
    try:
        # As `json.loads` words it: to the decoder alone a value would be missing.
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected UTF-8 BOM", text, 0)
        value: Plain = _read(text)
    except json.JSONDecodeError as error:
        raise _unreadable(name, text, error.pos, error.msg) from None
    except (_Refused, RecursionError):
        raise _unreadable(name, text, *_offence(text)) from None
    if "\\u" in text or not text.isascii() or text.count("{") + text.count("[") > DEEPEST:
        # There may be a lone surrogate, or too many levels.
        check(value, name)
    return value


def _unreadable(name: str, text: str, offset: int, problem: str) -> FormatError:
    """Return the error of a text that is not of format `name`, at `offset` (in characters)."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    message = f"{name}: line {line}, column {column}: {problem}"
    return FormatError(message, format=name, line=line, column=column)


def _quickly(value: object, indent: int | None) -> str | None:
    """Return the text as msgspec writes it, in C, where that is sure to be what `json.dumps` would; else `None`."""
    if not _is_usual(value, _SHALLOW) or (indent is not None and indent < 1):
        return None
    try:
        body = _write(value)
    # A lone surrogate, or too many digits.
    except (UnicodeEncodeError, ValueError):
        return None
    # There may be a number of too many digits in it.
    if len(body) > LONGEST:
        return None
    return (body if indent is None else msgspec.json.format(body, indent=indent)).decode()


def _is_usual(value: object, levels: int) -> bool:
    """Return whether a value is texts, numbers without an exponent, lists and objects only, and not deep."""
    kind = type(value)
    if kind is dict:
        inner = value.values()  # type: ignore[attr-defined]
        if not _KEYS.issuperset(map(type, value)):  # type: ignore[call-overload]
            return False
    elif kind is list or kind is tuple:
        inner = value
    else:
        # Floats that need an exponent are written by `json.dumps` in another way.
        return kind in _LEAVES or (kind is float and _PLAINEST <= abs(value) < _GREATEST)  # type: ignore[arg-type]
    return _LEAVES.issuperset(map(type, inner)) or (levels > 0 and all(_is_usual(item, levels - 1) for item in inner))


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if visible(char, breaks=True) == char:
        return char
    pair = char.encode("utf-16-be")
    return "".join(f"\\u{pair[n]:02x}{pair[n + 1]:02x}" for n in range(0, len(pair), 2))


class _Refused(Exception):
    """JSON, but not plain data; `_offence` finds where."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keyed = dict(pairs)
    # A key that stands twice.
    if len(keyed) != len(pairs):
        raise _Refused
    return keyed


def _no_constant(_word: str) -> NoReturn:
    raise _Refused


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refused
    return number


def _int(digits: str) -> int:
    # Python reads no more, and would say so without a place.
    if len(digits) > LONGEST:
        raise _Refused
    return int(digits)


_read = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float, parse_int=_int
).decode


def _offence(text: str) -> tuple[int, str]:
    """Return the offset at which a text says what is refused, and what that is; up to there it is JSON."""
    # The keys of each array and object that is open.
    open_keys: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        problem = _problem(token, open_keys)
        if problem:
            return token.start(), problem
    return 0, "nested too deeply"


def _problem(token: re.Match[str], open_keys: list[set[str]]) -> str:
    if token["key"]:
        key = json.loads(token["text"])
        if open_keys and key in open_keys[-1]:
            return f"key {json.dumps(key)} stands twice in one object"
        if open_keys:
            open_keys[-1].add(key)
    elif word := token["word"]:
        if word in ("NaN", "Infinity", "-Infinity"):
            return f"{word} is not a number of JSON"
        if word not in ("true", "false", "null"):
            return _number_problem(word)
    elif token.group() in "{[":
        open_keys.append(set())
        if len(open_keys) > DEEPEST:
            return f"nested more than {DEEPEST} levels deep"
    elif token.group() in "}]" and open_keys:
        open_keys.pop()
    return ""


def _number_problem(word: str) -> str:
    if any(char in word for char in ".eE"):
        return "" if math.isfinite(float(word)) else f"{word[:20]} is out of the range of a float"
    return "" if len(word) <= LONGEST else f"an integer of more than {LONGEST} digits"
