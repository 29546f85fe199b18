"""Which runs of `*`, `_` and `~` can open or close: the flanking rules of CommonMark, for every parser at once.

Parsers disagree on some characters: symbols count as punctuation since CommonMark 0.31 but not in GFM, some parsers
see halves of astral characters, and "Unicode whitespace" has three readings. Such a character has several classes,
and a question about it has the answer that is right for all of them.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from itertools import product

SPACE, PUNCTUATION, OTHER = "s", "p", "o"

_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

_SOME_SPACE = frozenset("\x0b\x1c\x1d\x1e\x1f\x85\u180e\u2028\u2029\ufeff")


@lru_cache(maxsize=4096)
def classes(char: str) -> str:
    """The classes that parsers may give a character; an edge of the line is given as a space."""
    if char in _ASCII_PUNCTUATION:
        return PUNCTUATION
    if char in " \t\n\r\f":
        return SPACE
    if char.isascii() and char.isalnum():
        return OTHER
    category = unicodedata.category(char)
    if category[0] == "L" or category[0] == "N":
        return OTHER
    if category == "Zs":
        return SPACE
    if category[0] == "P" and ord(char) < 0x10000:
        return PUNCTUATION
    if category[0] in "PS":
        return PUNCTUATION + OTHER
    return SPACE + OTHER if char in _SOME_SPACE else OTHER


@lru_cache(maxsize=4096)
def _sides(before: str, after: str) -> tuple[tuple[bool, bool, str, str], ...]:
    """For every reading of the two classes: left-flanking, right-flanking, the class before, the class after."""
    readings = []
    for left, right in product(before, after):
        opens = right != SPACE and (right != PUNCTUATION or left != OTHER)
        closes = left != SPACE and (left != PUNCTUATION or right != OTHER)
        readings.append((opens, closes, left, right))
    return tuple(readings)


def _opens(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, left, _ = reading
    return opens and (marker != "_" or not closes or left == PUNCTUATION)


def _closes(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, _, right = reading
    return closes and (marker != "_" or not opens or right == PUNCTUATION)


def may_open(marker: str, before: str, after: str) -> bool:
    """Some parser may take a run of `marker` between these two characters as an opening one."""
    return any(_opens(marker, one) for one in _sides(classes(before), classes(after)))


def may_close(marker: str, before: str, after: str) -> bool:
    """Some parser may take a run of `marker` between these two characters as a closing one."""
    return any(_closes(marker, one) for one in _sides(classes(before), classes(after)))


def must_open(marker: str, before: str, after: str) -> bool:
    """Every parser takes a run of `marker` between these two characters as an opening one."""
    return all(_opens(marker, one) for one in _sides(classes(before), classes(after)))


def must_close(marker: str, before: str, after: str) -> bool:
    """Every parser takes a run of `marker` between these two characters as a closing one."""
    return all(_closes(marker, one) for one in _sides(classes(before), classes(after)))
