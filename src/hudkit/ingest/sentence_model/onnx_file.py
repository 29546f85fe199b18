"""The constants of an ONNX file: the weights of a model, without the graph that it would be run by.

Read from the wire format of Protocol Buffers: of `ModelProto` the graph (field 7), of that each `TensorProto` (5)
with its dimensions (1), type (2), name (8) and raw bytes (9). Source: `onnx.proto` of ONNX 1.19.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_GRAPH, _CONSTANT = 7, 5
_DIMENSION, _TYPE, _NAME, _BYTES = 1, 2, 8, 9
_TYPES: dict[int, type[np.generic]] = {1: np.float32, 3: np.int8, 7: np.int64, 9: np.bool_}
_LENGTHS = {1: 8, 5: 4}
_VARINT, _COUNTED = 0, 2


def read_constants(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the constants of an ONNX file by name, in the order of the file, as views of its bytes."""
    graph = next(value for field, value in _fields(memoryview(data)) if field == _GRAPH)
    return dict(_constant(value) for field, value in _fields(graph) if field == _CONSTANT)


def _constant(message: memoryview) -> tuple[str, NDArray[Any]]:
    dimensions: list[int] = []
    kind, name, raw = 1, "", memoryview(b"")
    for field, value in _fields(message):
        if field == _DIMENSION:
            dimensions.append(value)
        elif field == _TYPE:
            kind = value
        elif field == _NAME:
            name = bytes(value).decode()
        elif field == _BYTES:
            raw = value
    return name, np.frombuffer(raw, _TYPES[kind]).reshape(dimensions)


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each field: an `int`, or the bytes of it."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield key >> 3, value
            continue
        if kind == _COUNTED:
            length, place = _varint(message, place)
        else:
            length = _LENGTHS[kind]
        yield key >> 3, message[place : place + length]
        place += length


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place
