"""The constants of an ONNX file, and which file is taken for the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hudkit.ingest.sentence_model.encoder import SentenceModel
from hudkit.ingest.sentence_model.onnx_file import read_constants

FLOAT, BYTE = 1, 3


def counted(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + number(len(content)) + content


def number(value: int) -> bytes:
    rest, low = value >> 7, value & 127
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def constant(name: str, kind: int, values: np.ndarray) -> bytes:
    dimensions = b"".join(bytes([1 << 3]) + number(size) for size in values.shape)
    return dimensions + bytes([2 << 3, kind]) + counted(8, name.encode()) + counted(9, values.tobytes())


def test_constants_are_read_by_name_in_their_order_and_other_fields_are_passed_over() -> None:
    weights = np.arange(600, dtype=np.float32).reshape(3, 200)
    small = np.array([[-1, 2]], np.int8)
    node, version = counted(1, counted(4, b"MatMul")), bytes([1 << 3, 9])
    graph = node + counted(5, constant("weights", FLOAT, weights)) + counted(5, constant("small", BYTE, small))
    constants = read_constants(version + counted(7, graph))
    assert list(constants) == ["weights", "small"]
    assert np.array_equal(constants["weights"], weights) and constants["weights"].dtype == np.float32
    assert np.array_equal(constants["small"], small) and constants["small"].dtype == np.int8


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not it")
    with pytest.raises(ValueError, match=r"model\.onnx is not the model .* its SHA-256 is "):
        SentenceModel(tmp_path / "model.onnx")
    with pytest.raises(OSError):
        SentenceModel(tmp_path / "missing.onnx")
