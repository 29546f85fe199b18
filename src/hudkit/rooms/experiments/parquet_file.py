"""Tables as Parquet files, written with the standard library: every value is there, plain and uncompressed.

A Parquet file is its columns, one after the other, and behind them a description that says where each begins, in the
compact protocol of Thrift. Of the many encodings this uses the one that every reader has to know: PLAIN values of
required columns, one page a column. Whole numbers are INT64, others DOUBLE, texts UTF-8. A library that writes all of
the format is fifty megabytes; these tables need none of the rest.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MAGIC = b"PAR1"
_INT64, _DOUBLE, _BYTE_ARRAY = 2, 5, 6
_REQUIRED, _UTF8, _PLAIN, _RLE, _UNCOMPRESSED, _DATA_PAGE = 0, 0, 0, 3, 0, 0

# Types of Thrift's compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12

_Field = tuple[int, int, bytes]
"""The number of a field, its type, and its bytes."""


def parquet_bytes(columns: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a table as the bytes of a Parquet file; every row has all columns."""
    body = bytearray(_MAGIC)
    schema = [_struct((4, _BINARY, _text("table")), (5, _I32, _number(len(names := list(columns)))))]
    chunks = []
    for name in names:
        values = [row[name] for row in rows]
        kind, plain = _plain_values(values)
        header = _struct(
            (1, _I32, _number(_DATA_PAGE)),
            (2, _I32, _number(len(plain))),
            (3, _I32, _number(len(plain))),
            (
                5,
                _STRUCT,
                _struct(
                    (1, _I32, _number(len(values))),
                    (2, _I32, _number(_PLAIN)),
                    (3, _I32, _number(_RLE)),
                    (4, _I32, _number(_RLE)),
                ),
            ),
        )
        offset, size = len(body), len(header) + len(plain)
        body += header + plain
        converted = [(6, _I32, _number(_UTF8))] if kind == _BYTE_ARRAY else []
        element = [(1, _I32, _number(kind)), (3, _I32, _number(_REQUIRED)), (4, _BINARY, _text(name)), *converted]
        schema.append(_struct(*element))
        described = _struct(
            (1, _I32, _number(kind)),
            (2, _LIST, _list(_I32, [_number(_PLAIN), _number(_RLE)])),
            (3, _LIST, _list(_BINARY, [_text(name)])),
            (4, _I32, _number(_UNCOMPRESSED)),
            (5, _I64, _number(len(values))),
            (6, _I64, _number(size)),
            (7, _I64, _number(size)),
            (9, _I64, _number(offset)),
        )
        chunks.append((_struct((2, _I64, _number(offset)), (3, _STRUCT, described)), size))
    group = _struct(
        (1, _LIST, _list(_STRUCT, [chunk for chunk, _ in chunks])),
        (2, _I64, _number(sum(size for _, size in chunks))),
        (3, _I64, _number(len(rows))),
    )
    footer = _struct(
        (1, _I32, _number(1)),
        (2, _LIST, _list(_STRUCT, schema)),
        (3, _I64, _number(len(rows))),
        (4, _LIST, _list(_STRUCT, [group])),
        (6, _BINARY, _text("hudkit")),
    )
    return bytes(body + footer + struct.pack("<I", len(footer)) + _MAGIC)


def _plain_values(values: Sequence[Any]) -> tuple[int, bytes]:
    """Return the type of a column, and its values in the encoding PLAIN."""
    if any(isinstance(value, str) for value in values):
        texts = [str(value).encode() for value in values]
        return _BYTE_ARRAY, b"".join(struct.pack("<I", len(text)) + text for text in texts)
    if any(isinstance(value, float) for value in values):
        return _DOUBLE, struct.pack(f"<{len(values)}d", *values)
    return _INT64, struct.pack(f"<{len(values)}q", *values)


# -- Thrift's compact protocol -------------------------------------------------------------------------------------


def _struct(*fields: _Field) -> bytes:
    written, last = bytearray(), 0
    for number, kind, value in fields:
        # Numbers of neighbours are told by their distance, which is small here.
        written.append((number - last) << 4 | kind)
        written += value
        last = number
    return bytes(written) + b"\0"


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    short = len(items) < 15
    head = bytes([len(items) << 4 | kind]) if short else bytes([0xF0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _number(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else ~(value << 1))


def _text(value: str) -> bytes:
    encoded = value.encode()
    return _varint(len(encoded)) + encoded


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
