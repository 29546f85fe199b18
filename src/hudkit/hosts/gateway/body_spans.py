"""Where the values of a JSON body stand, byte by byte, so that something can be put between them. Pure.

A body that is read and written again is another body: keys move, numbers and escapes change, signatures break. So
nothing is written again. Bytes of ours are put between the client's, which all stay, in their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

_KEY = re.compile(rb'\s*,?\s*("(?:[^"\\]|\\.)*")\s*:\s*')
_COMMA = re.compile(rb"\s*,?\s*")
_OBJECT_END = re.compile(rb"\s*\}")
_ARRAY_END = re.compile(rb"\s*\]")
_LONE = re.compile("[\ud800-\udfff]")

_OBJECT: msgspec.json.Decoder[dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: msgspec.json.Decoder[list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw])


class BodyUnknown(ValueError):
    """A body is not what a call of its shape is, as far as we know: it goes out as it came."""


class Span(NamedTuple):
    """The bytes of a value: from `start` to before `end`."""

    start: int
    end: int


def object_spans(body: bytes, span: Span) -> dict[str, Span]:
    """Return where the values of an object stand, by their keys. Raises `BodyUnknown`, also where a key is there
    twice."""
    try:
        values = _OBJECT.decode(memoryview(body)[span.start : span.end])
        place = body.index(b"{", span.start) + 1
        spans = {}
        for key, raw in values.items():
            match = _KEY.match(body, place)
            if match is None or msgspec.json.decode(match[1]) != key:
                raise BodyUnknown
            spans[key] = _span_of(body, match.end(), raw)
            place = spans[key].end
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise BodyUnknown from None
    if _OBJECT_END.match(body, place) is None:
        raise BodyUnknown
    return spans


def array_spans(body: bytes, span: Span, leading: Sequence[Span] = ()) -> list[Span]:
    """Return where the elements of an array stand, but for the `leading` ones, which are known. Raises
    `BodyUnknown`."""
    try:
        values = _ARRAY.decode(memoryview(body)[span.start : span.end])
        place = leading[-1].end if leading else body.index(b"[", span.start) + 1
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise BodyUnknown from None
    spans = []
    for raw in values[len(leading) :]:
        comma = _COMMA.match(body, place)
        assert comma is not None  # it matches nothing, too
        spans.append(_span_of(body, comma.end(), raw))
        place = spans[-1].end
    if _ARRAY_END.match(body, place) is None:
        raise BodyUnknown
    return spans


def _span_of(body: bytes, start: int, raw: msgspec.Raw) -> Span:
    value = memoryview(raw)
    end = start + value.nbytes
    if memoryview(body)[start:end] != value:
        raise BodyUnknown
    return Span(start, end)


def read_value(body: bytes, span: Span | None = None) -> Any:
    """Return a value. A half of a surrogate pair, as in a text that was cut, becomes a replacement character. Raises
    `BodyUnknown`."""
    raw = body if span is None else memoryview(body)[span.start : span.end]
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _whole_characters(json.loads(bytes(raw)))
    except (ValueError, RecursionError):
        raise BodyUnknown from None


def _whole_characters(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return value


class Splice(NamedTuple):
    """Bytes that are put into a body, before the byte at `offset`."""

    offset: int
    data: bytes


def spliced(body: bytes, splices: Iterable[Splice]) -> bytes:
    """Return the body with bytes put between its own; those for one place in the order in which they are given."""
    out, place = [], 0
    for splice in sorted(splices, key=lambda splice: splice.offset):
        out += [body[place : splice.offset], splice.data]
        place = splice.offset
    return b"".join([*out, body[place:]])


encoded = msgspec.json.encode
"""Return a value of ours as JSON bytes."""
