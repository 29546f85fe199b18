"""Counts small texts with o200k_base where its vocabulary is not loaded: the ranks of tokens are searched in a file.

To load the vocabulary takes 50 ms. A command that shows one frame needs the ranks of about a thousand of its 200,000
tokens, and ends. Here it counts in 8 ms what the tokenizer counts, exactly. What counts more, or has a text that is
not usual (below), gets no count: that is for the tokenizer.

**The file** has all tokens by their length in bytes, those of one length in the order of their bytes: each is found
by halving. Behind them stand their ranks, in the same order. `scripts/write_rank_table.py` writes it. The vocabulary
is OpenAI's, under the MIT license: o200k_base-LICENSE.txt, which lies beside the file.

**Counting.** A text is cut into words by the vocabulary's pattern. A word that is a token counts one. Of any other
the bytes are merged: again and again the two neighbours that make the token of the lowest rank, the first of several,
until no two make a token. Example: `hudkit` is none. `it` has the lowest rank, then come `ud`, `kit` and `hud`, and
the two that are left do not merge: two tokens.

**Classes of characters.** The pattern tells letters, marks and numbers apart, which Python's `re` cannot. So it is
matched on the text with one character of its class in the place of each that is not ASCII: `Größe 中` is cut where
`Graaa ª` is. A character whose class depends on the version of Unicode is not usual: one that this Python does not
know, or a letter that Unicode 3.2 did not have. So both count alike, whatever versions they have.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import accumulate
from operator import add
from pathlib import Path

TABLE = Path(__file__).with_name("o200k_base.ranks")

MOST_SEARCHES = 8_000
"""Tokens that are searched until the tokenizer takes over: they take as long as to load it."""

MOST_CHARACTERS = 16_000
"""Characters of a text from which it is for the tokenizer: no frame is so long."""

_LONGEST_WORD = 256
"""Bytes of a word from which it is for the tokenizer: what merging takes grows with their square."""

_NO_TOKEN = 1 << 24

_LETTER, _MARK, _UNUSUAL = "\u00aa", "\u00ba", "\u00ff"
"""What stands for letters that are neither upper nor lower case, for combining marks, and for what is not usual."""

_ENDING = "(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?"
_BEFORE = f"[^\r\nA-Za-z0-9{_LETTER}]?"
_SPACE = "[ \t-\r]"  # `\s` of `re` has four control characters more
_WORDS = "|".join(
    (
        f"{_BEFORE}[A-Z{_LETTER}{_MARK}]*[a-z{_LETTER}{_MARK}]+{_ENDING}",
        f"{_BEFORE}[A-Z{_LETTER}{_MARK}]+[a-z{_LETTER}{_MARK}]*{_ENDING}",
        "[0-9]{1,3}",
        f" ?[^ \t-\rA-Za-z0-9{_LETTER}]+[\r\n/]*",
        f"{_SPACE}*[\r\n]+",
        f"{_SPACE}+(?![^ \t-\r])",
        f"{_SPACE}+",
    )
)
"""The vocabulary's pattern, over ASCII and what stands for all else."""


class TableCounter:
    """Exact counts of o200k_base for a few small texts, without the vocabulary.

    Raises `OSError` or `ValueError` where the table cannot be read.
    """

    def __init__(self, table: Path = TABLE) -> None:
        self._find_words = re.compile(_WORDS)
        self._classes = _ClassStandIns()
        self._words = _WordCounts(table.read_bytes())

    def count(self, text: str) -> int | None:
        """Return the number of tokens of `text`; `None` where that is for the tokenizer."""
        if len(text) > MOST_CHARACTERS:
            return None
        if text.isascii():
            words = self._find_words.findall(text)
        else:
            classes = text.translate(self._classes)
            if _UNUSUAL in classes:
                return None
            ends = [*accumulate(map(len, self._find_words.findall(classes)))]  # no character is in none
            words = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        try:
            return sum(map(self._words.__getitem__, words))
        except _TooMuchError:
            return None


class _TooMuchError(Exception):
    """A word is longer, or more was searched, than is worth its time here."""


class _ClassStandIns(dict[int, str]):
    """For each character what stands for its class in the pattern; ASCII stands for itself."""

    def __missing__(self, code: int) -> str:
        self[code] = stand_in = chr(code) if code < 128 else _class_stand_in(chr(code))
        return stand_in


def _class_stand_in(char: str) -> str:
    category = unicodedata.category(char)
    if category in ("Cn", "Co", "Cs") or char == "\u017f":  # the long s is an `s` behind an apostrophe
        return _UNUSUAL
    if category[0] not in "LMN":  # to the pattern, a sign is what a character is that nobody has defined yet
        return "\t" if char.isspace() else "!"
    if unicodedata.ucd_3_2_0.category(char) != category:
        return _UNUSUAL
    named = {"Lu": "A", "Lt": "A", "Ll": "a", "Lm": _LETTER, "Lo": _LETTER}
    return named.get(category) or (_MARK if category[0] == "M" else "0")


class _WordCounts(dict[str, int]):
    """The number of tokens of each word that was counted."""

    def __init__(self, table: bytes) -> None:
        self._ranks = _Ranks(table)

    def __missing__(self, text: str) -> int:
        word = text.encode()
        if len(word) > _LONGEST_WORD or len(self._ranks) > MOST_SEARCHES:
            raise _TooMuchError
        self[text] = tokens = 1 if self._ranks[word] < _NO_TOKEN else self._merge(word)
        return tokens

    def _merge(self, word: bytes) -> int:
        """Return how many tokens are left of the bytes of a word when all is merged."""
        rank_of = self._ranks.__getitem__
        pieces = [word[place : place + 1] for place in range(len(word))]
        ranks = list(map(rank_of, map(add, pieces, pieces[1:])))
        while (lowest := min(ranks, default=_NO_TOKEN)) < _NO_TOKEN:
            place = ranks.index(lowest)
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
            del ranks[place]
            if place < len(ranks):
                ranks[place] = rank_of(pieces[place] + pieces[place + 1])
            if place:
                ranks[place - 1] = rank_of(pieces[place - 1] + pieces[place])
        return len(pieces)


class _Ranks(dict[bytes, int]):
    """The ranks of pieces that were searched, `_NO_TOKEN` for what is no token.

    The table: the number of lengths, and of tokens of each length, in four bytes each; the tokens; then the lowest
    bytes of all ranks, the middle ones and the highest.
    """

    def __init__(self, table: bytes) -> None:
        longest = int.from_bytes(table[:4], "little")
        start, index = 4 * (longest + 1), 0
        self._table = table
        self._blocks: list[tuple[int, int, int]] = []  # of each length: where it starts, how many, and which is first
        for size in range(1, longest + 1):
            number = int.from_bytes(table[4 * size : 4 * size + 4], "little")
            self._blocks.append((start, number, index))
            start, index = start + size * number, index + number
        self._ranks, self._number = start, index
        if len(table) != start + 3 * index or not index:
            raise ValueError("the table of ranks is not whole")

    def __missing__(self, piece: bytes) -> int:
        self[piece] = rank = self._search(piece)
        return rank

    def _search(self, piece: bytes) -> int:
        size, table = len(piece), self._table
        if size > len(self._blocks):
            return _NO_TOKEN
        start, number, first = self._blocks[size - 1]
        low, high = 0, number
        while low < high:  # a fifth faster than `bisect` with a key
            middle = (low + high) // 2
            offset = start + middle * size
            if table[offset : offset + size] < piece:
                low = middle + 1
            else:
                high = middle
        offset = start + low * size
        if low == number or table[offset : offset + size] != piece:
            return _NO_TOKEN
        place, number = self._ranks + first + low, self._number
        return table[place] | table[place + number] << 8 | table[place + 2 * number] << 16
