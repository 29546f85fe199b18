"""A text as the numbers of its word pieces, as BERT's uncased vocabularies cut it.

Words and marks are folded to lower case without accents, and each word is cut into the longest pieces that the
vocabulary has, from its beginning on. Source: the `BertTokenizer` of the published model (`tokenizer_config.json`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path

_MAX_WORD = 100
"""Characters of a longer word are not looked at: it is unknown as a whole."""

_IDEOGRAMS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_IDEOGRAMS}]|[!-/:-@\[-`{{-~]|[^\s{_IDEOGRAMS}!-/:-@\[-`{{-~]+")
_UNKNOWN = "[UNK]"


def read_vocabulary(path: Path) -> dict[str, int]:
    """Return the number of each piece of a `vocab.txt`: that of its line, from 0 on."""
    return {piece: number for number, piece in enumerate(path.read_text(encoding="utf-8").splitlines())}


def piece_numbers(text: str, vocabulary: Mapping[str, int]) -> list[int]:
    """Return the numbers of a text's pieces, without marks before and behind them."""
    return [vocabulary[piece] for word in _words(text) for piece in _pieces(word, vocabulary)]


def _words(text: str) -> Iterator[str]:
    shown = "".join(
        " " if each.isspace() else each
        for each in text
        if each.isspace() or (each.isprintable() and each != "\ufffd")
    )
    plain = "".join(
        each for each in unicodedata.normalize("NFD", shown.lower()) if unicodedata.category(each) != "Mn"
    )
    for match in _WORD.finditer(plain):
        yield from _without_marks(match.group())


def _without_marks(word: str) -> Iterator[str]:
    """Yield the parts of a word between marks that are not of ASCII, and those marks."""
    if word.isalnum():
        yield word
        return
    start = 0
    for place, each in enumerate(word):
        if unicodedata.category(each)[0] == "P":
            if start < place:
                yield word[start:place]
            yield each
            start = place + 1
    if start < len(word):
        yield word[start:]


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    if len(word) > _MAX_WORD:
        return [_UNKNOWN]
    pieces: list[str] = []
    start = 0
    while start < len(word):
        lead = "##" if start else ""
        end = next((end for end in range(len(word), start, -1) if lead + word[start:end] in vocabulary), 0)
        if not end:
            return [_UNKNOWN]
        pieces.append(lead + word[start:end])
        start = end
    return pieces
