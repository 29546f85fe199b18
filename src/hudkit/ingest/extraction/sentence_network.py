"""Whether a sentence is meant to last, by its words: a small network that runs in plain Python.

A convolutional network after Kim, "Convolutional Neural Networks for Sentence Classification" (2014): filters read
each word, and each two and three words that stand beside each other; of each counts what it finds most of. Beside
them count the names of the sentence's grammar (`clause_grammar`). All weights are learned together, from labelled
sentences: `python -m bench.sentence_network` (decision 50).

What a filter finds in a word depends on nothing else, so the file has it ready: a byte for each filter. The bytes of
a word are lanes of one number; what stands at a place of the sentence is the sum of three numbers: 40 µs a sentence.

For example, "The warehouse people don't speak English." has no word of a rule, and is kept: the network has learned
from others that who somebody works for, told in the present, holds for longer.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Collection, Sequence
from functools import cache, cached_property, lru_cache, reduce
from importlib import resources

import msgspec

from hudkit.ingest.extraction.clause_grammar import read_sentence, word_class

TABLE = "sentence_network.msgpack"
WIDTHS = (1, 2, 3)
"""Words that the filters read at once; there are as many filters of each of the three widths."""
SECTIONS = ("constraints", "preferences", "decisions", "notes")
NOTHING = 128
"""The byte that stands for nothing found."""

_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_MAX_TEXT, _MAX_TOKENS = 600, 60
"""Characters and words of a sentence that are read."""


def tokens_of(text: str) -> list[str]:
    """Return the words of a sentence as the network reads them: in lower case, numbers as `0`, each mark alone."""
    tokens = _TOKEN.findall(text[:_MAX_TEXT].lower().replace("’", "'"))[:_MAX_TOKENS]
    return ["0" if token[0].isdigit() else token for token in tokens]


class NetworkTable(msgspec.Struct, frozen=True):
    """What was learned, as it stands in the file.

    `words` and `classes` have a row each in `rows` and `class_rows`, with a byte for each filter: what those find in
    the word that end with it, by width; then what those find that end one word later, and two. A word that
    is not among `words` has the row of its class. A filter finds something from `biases` on, in bytes, and has a
    weight in each of `outputs`, in logits: whether the sentence is meant to last, and whether it belongs into each of
    `SECTIONS`. `names` are the weights of the grammar, in the same order.
    """

    words: list[str]
    rows: bytes
    classes: list[str]
    class_rows: bytes
    biases: list[float]
    outputs: list[list[float]]
    names: dict[str, list[float]]
    starts: list[float]


class WordsRead:
    """What the words of one sentence tell."""

    def __init__(self, table: NetworkTable, most: Sequence[float], names: Collection[str]) -> None:
        """`most` is what each filter found in them, `names` are those of the sentence's grammar."""
        self._table = table
        self._most = most
        self._names = names

    @cached_property
    def logit(self) -> float:
        """Return how much speaks for it that the sentence is meant to last."""
        return self._answer(0)

    @cached_property
    def section(self) -> str:
        """Return the section that the sentence belongs to if it is meant to last."""
        answers = [self._answer(number) for number in range(1, 1 + len(SECTIONS))]
        return SECTIONS[answers.index(max(answers))]

    def _answer(self, number: int) -> float:
        table = self._table
        by_words: float = sum(map(operator.mul, self._most, table.outputs[number]))
        by_grammar = sum([table.names[name][number] for name in self._names if name in table.names])
        return table.starts[number] + by_words + by_grammar


class SentenceNetwork:
    """The network, ready to read."""

    def __init__(self, table: NetworkTable) -> None:
        self._table = table
        self._count = len(table.biases)
        self._places = {word: place for place, word in enumerate(table.words)}
        self._class_places = {name: place for place, name in enumerate(table.classes)}
        self._of_words: dict[str, tuple[int, int, int]] = {}
        size = self._count // len(WIDTHS)
        nothing = bytes([NOTHING]) * size
        self._begin = _lanes(bytes(size) + 2 * nothing), _lanes(bytes(2 * size) + nothing)
        """What stands one word, and two words, before the first."""
        self._guards = int.from_bytes((1 << 15).to_bytes(2, sys.byteorder) * self._count, sys.byteorder)
        """The highest bit of each lane, which no sum reaches."""

    def read(self, text: str, names: Collection[str]) -> WordsRead:
        """Return what the words of a sentence tell; `names` are those of its grammar."""
        return WordsRead(self._table, self._most(text), names)

    def _most(self, text: str) -> list[float]:
        """What each filter finds most at a place of the sentence, over its bias."""
        rows = list(map(self._row, tokens_of(text))) or [self._row("")]
        now, before, earlier = zip(*rows, strict=True)
        word_before, two_before = self._begin
        sums = map(
            operator.add,
            map(operator.add, (*now, word_before, two_before), (word_before, *before, word_before)),
            (two_before, two_before, *earlier),
        )
        most = reduce(self._larger, sums).to_bytes(2 * self._count, sys.byteorder)
        return list(map(max, map(operator.sub, memoryview(most).cast("H"), self._table.biases), _ZEROS))

    def _larger(self, first: int, second: int) -> int:
        """The larger one of two numbers in each lane."""
        guards = self._guards
        is_larger = ((first | guards) - second) & guards
        return second ^ ((first ^ second) & (is_larger - (is_larger >> 15)))

    def _row(self, token: str) -> tuple[int, int, int]:
        row = self._of_words.get(token)
        if row is None:
            place, rows = self._places.get(token), self._table.rows
            if place is None:
                place, rows = self._class_places.get(word_class(token), 0), self._table.class_rows
            row = self._read_row(rows, place)
            if len(self._of_words) < _MAX_KEPT:
                self._of_words[token] = row
        return row

    def _read_row(self, rows: bytes, place: int) -> tuple[int, int, int]:
        count, size = self._count, self._count // len(WIDTHS)
        first = 2 * place * count
        second, third, end = first + count, first + count + 2 * size, first + 2 * count
        return (
            _lanes(rows[first:second]),
            _lanes(bytes(size) + rows[second:third]),
            _lanes(bytes(2 * size) + rows[third:end]),
        )


def _lanes(row: bytes) -> int:
    """The bytes of a row as the lanes of one number, two bytes each, so that sums stay in their lanes."""
    lanes = bytearray(2 * len(row))
    lanes[0 if sys.byteorder == "little" else 1 :: 2] = row
    return int.from_bytes(lanes, sys.byteorder)


_MAX_KEPT = 8_192
"""Words whose rows are kept ready."""
_ZEROS = (0.0,) * 1_000


@cache  # read with the first message, not when the package is imported
def network() -> SentenceNetwork:
    """Return the network that comes with the package."""
    table = resources.files(__package__).joinpath(TABLE).read_bytes()
    return SentenceNetwork(msgspec.msgpack.decode(table, type=NetworkTable))


@lru_cache(maxsize=256)  # a sentence is asked for by several readers of its message
def read_words(text: str) -> WordsRead:
    """Return what the words of a sentence tell, read by the network that comes with the package."""
    return network().read(text, read_sentence(text).names)
