"""The model: `all-MiniLM-L6-v2` of sentence-transformers, a BERT of six layers, with low-rank additions of ours.

The additions, and a row for each thing that is asked, are what `python -m bench.sentence_model` learns: one file
for what a sentence is said for, another for what a message ends. The model itself comes from a package with a byte
for each weight, and is checked by its SHA-256, because the additions fit no other one. It runs on numpy. For
example, `judge(["Add a test.", "My pupils are in year 4."], message)` gives a logit below 0 for the first and above
0 for the second, with `notes` as its section.

Source: Devlin et al., "BERT", 2019, and the configuration of the published model.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hudkit.ingest.extraction.sentence_judge import Judged
from hudkit.ingest.sentence_model.onnx_file import read_constants
from hudkit.ingest.sentence_model.word_pieces import piece_numbers, read_vocabulary

Array = NDArray[Any]
Floats = NDArray[np.float32]
Norm = tuple[Floats, Floats]

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the model's `model.onnx`."""

ADDITIONS = Path(__file__).parent / "additions.npz"
"""What is added for sentences."""
ENDINGS = Path(__file__).parent / "endings.npz"
"""What is added for a message that may end a statement."""
_VOCABULARY = Path(__file__).parent / "bert_vocabulary.txt"

KINDS = {"constraint": "constraints", "preference": "preferences", "decision": "decisions", "note": "notes"}
"""What a sentence can be that is meant to last, and the section of each, in the order of the rows of the head."""

MATRICES = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The matrices of a layer, in the order in which they are used."""
_NORMS = ("attention.output", "output")
_LAYERS, _HEADS = 6, 12
_CLS, _SEP = 101, 102
_MAX_PIECES = 64
"""Pieces of a text, and of what stands around it, that are read."""
_MAX_SENTENCE = 400
_AROUND, _MAX_AROUND = 100, 300
"""Characters before a sentence, and of its message in all, where that is longer."""


class SentenceReader:
    """Cuts texts into the numbers that the model reads: those of a text itself, and of what stands around it."""

    def __init__(self) -> None:
        self._vocabulary = read_vocabulary(_VOCABULARY)
        self.pieces = tuple(self._vocabulary)
        """The piece of each number; one that goes on in a word begins with `##`."""

    def sentence(self, sentence: str, message: str) -> tuple[list[int], list[int]]:
        """Return the numbers of a sentence and of the message that it stands in."""
        line, whole = " ".join(sentence.split()), " ".join(message.split())
        if len(whole) > _MAX_AROUND:
            start = max(whole.find(line[:30]) - _AROUND, 0)
            whole = whole[start : start + _MAX_AROUND]
        return self.pair(line, "" if line == whole else whole)

    def pair(self, text: str, around: str) -> tuple[list[int], list[int]]:
        """Return the numbers of a text and of another one beside it."""
        first = piece_numbers(text[:_MAX_SENTENCE], self._vocabulary)[:_MAX_PIECES]
        rest = piece_numbers(around, self._vocabulary)[:_MAX_PIECES] if around else []
        return [_CLS, *first, _SEP], [*rest, _SEP] if around else []


class LayerConstants(NamedTuple):
    """The matrices of a layer with what is added to their result, by name, and the two norms."""

    matrices: dict[str, tuple[Floats, Floats]]
    norms: tuple[Norm, Norm]


class ModelConstants(NamedTuple):
    """What the published model consists of: rows for words, places and parts; a norm; its layers."""

    words: tuple[NDArray[np.int8], Floats]
    """A row of bytes for each word, and what each is to be multiplied with."""
    places: Floats
    parts: Floats
    norm: Norm
    layers: list[LayerConstants]


def constants_of(path: Path) -> ModelConstants:
    """Return what the model's ONNX file holds. Raises `OSError`, and `ValueError` where it is another file."""
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != SHA256:
        raise ValueError(f"{path} is not the model that hudkit's additions fit: its SHA-256 is {digest}")
    constants = read_constants(data)

    def whole(name: str) -> Floats:
        return np.asarray(constants[f"{name}_q"] * constants[f"{name}_scale"], np.float32)

    def norm(name: str) -> Norm:
        return constants[f"inner.{name}.LayerNorm.weight"], constants[f"inner.{name}.LayerNorm.bias"]

    # The matrices have no names of their own: six in each layer, in the order of their use.
    matrices: Iterator[Floats] = (
        whole(name.removesuffix("_q")) for name in constants if name.startswith("val_") and name.endswith("_q")
    )
    layers = []
    for name in (f"encoder.layer.{number}" for number in range(_LAYERS)):
        parts = {part: (next(matrices), constants[f"inner.{name}.{part}.bias"]) for part in MATRICES}
        layers.append(LayerConstants(parts, (norm(f"{name}.{_NORMS[0]}"), norm(f"{name}.{_NORMS[1]}"))))
    name = "inner.embeddings.word_embeddings.weight"
    words = constants[f"{name}_q"], np.asarray(constants[f"{name}_scale"], np.float32)
    places = whole("inner.embeddings.position_embeddings.weight")
    parts_of_text = constants["inner.embeddings.token_type_embeddings.weight"]
    return ModelConstants(words, places, parts_of_text, norm("embeddings"), layers)


class SentenceModel:
    """The model with what was added to it; a `SentenceJudge`. Safe for several threads: it is only read."""

    def __init__(self, path: Path, additions: Path = ADDITIONS, endings: Path = ENDINGS) -> None:
        """`path` is the model's ONNX file. Raises `OSError`, and `ValueError` where it is another one."""
        constants = constants_of(path)
        self._reader = SentenceReader()
        self._of_sentence = _Taught(constants, additions)
        self._of_ending = _Taught(constants, endings)

    def judge(self, sentences: Sequence[str], message: str) -> list[Judged]:
        """Return what each of a message's sentences is said for."""
        answers = [self._of_sentence.answers(self._reader.sentence(sentence, message)) for sentence in sentences]
        sections = tuple(KINDS.values())
        return [Judged(float(each[0]), sections[int(each[1:-1].argmax())]) for each in answers]

    def ends(self, statements: Sequence[str], message: str) -> list[float]:
        """Return how much speaks for it (a logit) that a message ends each of the statements that stand before it."""
        return [float(self._of_ending.answers(self._reader.pair(each, message))[-1]) for each in statements]


class _Taught:
    """The published model with one file of additions."""

    def __init__(self, constants: ModelConstants, additions: Path) -> None:
        with np.load(additions) as added:
            table = dict(added)
        self._constants = constants._replace(layers=[])
        self._layers = [_layer(layer, table, number) for number, layer in enumerate(constants.layers)]
        self._head: Norm = (table["head.weight"].T, table["head.bias"])

    def answers(self, text: tuple[list[int], list[int]]) -> Floats:
        """Return what speaks for each of the things that are asked of a text."""
        first, rest = text
        (rows, scales), places = self._constants.words, self._constants.places
        words = rows[first + rest] * scales[first + rest] + places[: len(first + rest)]
        states = _normed(words + self._constants.parts[[0] * len(first) + [1] * len(rest)], self._constants.norm)
        for layer in self._layers:
            states = layer(states)
        weight, bias = self._head
        return np.asarray(states[: len(first)].mean(axis=0) @ weight + bias, np.float32)


class _Layer(NamedTuple):
    """One layer; each matrix has what it maps from in its rows. The first three are one."""

    attend: Norm
    out: Norm
    widen: Norm
    narrow: Norm
    norms: tuple[Norm, Norm]

    def __call__(self, states: Floats) -> Floats:
        count, width = states.shape
        three = _mapped(states, self.attend).reshape(count, 3, _HEADS, width // _HEADS)
        query, key, value = three.transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(width / _HEADS))
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        seen = (shares @ value).transpose(1, 0, 2).reshape(count, width)
        states = _normed(states + _mapped(seen, self.out), self.norms[0])
        return _normed(states + _mapped(_gelu(_mapped(states, self.widen)), self.narrow), self.norms[1])


def _layer(constants: LayerConstants, added: Mapping[str, Array], number: int) -> _Layer:
    def with_addition(part: str) -> Norm:
        matrix, bias = constants.matrices[part]
        a, b = (added[f"{number}.{part}.{name}"] * added[f"{number}.{part}.{name}.scale"][:, None] for name in "ab")
        return np.ascontiguousarray(matrix + (b @ a).T, np.float32), bias

    query, key, value, out, widen, narrow = map(with_addition, MATRICES)
    attend = np.concatenate([query[0], key[0], value[0]], axis=1), np.concatenate([query[1], key[1], value[1]])
    return _Layer(attend, out, widen, narrow, constants.norms)


def _mapped(states: Floats, matrix: Norm) -> Floats:
    return np.asarray(states @ matrix[0] + matrix[1], np.float32)


def _normed(states: Floats, norm: Norm) -> Floats:
    centred = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(1e-12))
    return np.asarray(centred / spread * norm[0] + norm[1], np.float32)


def _gelu(values: Floats) -> Floats:
    """The Gaussian error linear unit; its error function by Abramowitz and Stegun, 7.1.26 (to 1.5e-7)."""
    scaled = np.abs(values) * np.float32(math.sqrt(0.5))
    part = 1 / (1 + np.float32(0.3275911) * scaled)
    series = part * (
        0.254829592 + part * (-0.284496736 + part * (1.421413741 + part * (-1.453152027 + part * 1.061405429)))
    )
    return np.asarray(0.5 * values * (1 + np.sign(values) * (1 - series * np.exp(-scaled * scaled))), np.float32)
