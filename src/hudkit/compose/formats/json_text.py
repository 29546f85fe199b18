"""JSON (RFC 8259): writing plain data with hidden characters escaped, and reading it strictly."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

import msgspec

from hudkit.compose import visible
from hudkit.compose.formats.plain import DEEPEST, LONGEST, Plain, check
from hudkit.errors import FormatError

NAME = "json"

_SHALLOW = 16
_LEAVES = frozenset((str, int, bool, type(None)))
_KEYS = frozenset((str,))
_write = msgspec.json.Encoder().encode

_NOT_PLAIN = re.compile(r"[^\x20-\x7e\n]")
_TOKEN = re.compile(r'(?P<text>"(?:[^"\\]|\\.)*")(?P<key>\s*:)?|(?P<word>-?\w[\w.+-]*)|[{}\[\]]', re.DOTALL)


def encode(value: object, *, indent: int | None = 2, name: str = NAME) -> str:
    """JSON text; `indent` is in spaces, `None` writes no white space at all.

    Characters that hide or end a line (`document.visible`) are written as `\\uXXXX`, all others as they are. Raises
    `FormatError` for what is no plain data, under `name`.
    """
    text = _quickly(value, indent)
    if text is None:
        check(value, name)
        separators = (",", ":") if indent is None else None
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators)
    return text if text.isascii() and "\x7f" not in text else _NOT_PLAIN.sub(_escape, text)


def decode(text: str, *, name: str = NAME) -> Plain:
    """The plain data that a JSON text says.

    Raises `FormatError` with line and column where it is no JSON, names a key twice in one object, has a number that
    is not finite, or is nested too deeply; with the path where a string has a lone surrogate.
    """
    try:
        if text.startswith("\ufeff"):
            raise json.JSONDecodeError("Unexpected UTF-8 BOM", text, 0)
        value: Plain = _read(text)
    except json.JSONDecodeError as error:
        raise unreadable(name, text, error.pos, error.msg) from None
    except (_Refused, RecursionError):
        raise unreadable(name, text, *_offence(text)) from None
    if "\\u" in text or not text.isascii() or text.count("{") + text.count("[") > DEEPEST:
        check(value, name)  # there may be a lone surrogate, or too many levels
    return value


def unreadable(name: str, text: str, offset: int, what: str, hint: str = "") -> FormatError:
    """The error of a text that is not of format `name`, at `offset` (in characters)."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    message = f"{name}: line {line}, column {column}: {what}"
    return FormatError(message, hint=hint, format=name, line=line, column=column)


def _quickly(value: object, indent: int | None) -> str | None:
    """The text as msgspec writes it, in C, where that is sure to be what `json.dumps` would write; else `None`."""
    if not _usual(value, _SHALLOW) or (indent is not None and indent < 1):
        return None
    try:
        body = _write(value)
    except (UnicodeEncodeError, ValueError):  # a lone surrogate, too many digits
        return None
    if len(body) > LONGEST:  # there may be a number of too many digits in it
        return None
    return (body if indent is None else msgspec.json.format(body, indent=indent)).decode()


def _usual(value: object, levels: int) -> bool:
    """Whether a value is texts, integers, lists and objects only, not deep: floats have digits of their own."""
    kind = type(value)
    if kind is dict:
        inner = value.values()  # type: ignore[attr-defined]
        if not _KEYS.issuperset(map(type, value)):  # type: ignore[call-overload]
            return False
    elif kind is list or kind is tuple:
        inner = value
    else:
        return kind in _LEAVES
    return _LEAVES.issuperset(map(type, inner)) or (levels > 0 and all(_usual(one, levels - 1) for one in inner))


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if visible(char, breaks=True) == char:
        return char
    pair = char.encode("utf-16-be")
    return "".join(f"\\u{pair[n]:02x}{pair[n + 1]:02x}" for n in range(0, len(pair), 2))


class _Refused(Exception):
    """JSON, but not plain data; where, `_offence` finds."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Refused
    return made


def _no_constant(_word: str) -> NoReturn:
    raise _Refused


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _Refused
    return number


def _int(digits: str) -> int:
    if len(digits) > LONGEST:
        raise _Refused
    return int(digits)


_read = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float, parse_int=_int
).decode


def _offence(text: str) -> tuple[int, str]:
    """Where a text that is JSON up to there says what is refused, and what that is."""
    open_: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        what = _wrong(token, open_)
        if what:
            return token.start(), what
    return 0, "nested too deeply"


def _wrong(token: re.Match[str], open_: list[set[str]]) -> str:
    if token["key"]:
        key = json.loads(token["text"])
        if open_ and key in open_[-1]:
            return f"key {json.dumps(key)} stands twice in one object"
        _add(open_[-1:], key)
    elif word := token["word"]:
        if word in ("NaN", "Infinity", "-Infinity"):
            return f"{word} is no number of JSON"
        if word not in ("true", "false", "null"):
            return _wrong_number(word)
    elif token.group() in "{[":
        open_.append(set())
        if len(open_) > DEEPEST:
            return f"nested more than {DEEPEST} levels deep"
    elif token.group() in "}]" and open_:
        open_.pop()
    return ""


def _wrong_number(word: str) -> str:
    if any(char in word for char in ".eE"):
        return "" if math.isfinite(float(word)) else f"{word[:20]} is out of the range of a float"
    return "" if len(word) <= LONGEST else f"an integer of more than {LONGEST} digits"


def _add(last: Iterable[set[str]], key: str) -> None:
    for keys in last:
        keys.add(key)
