r"""The markers of strong, emphasised and struck stretches: chosen so that every parser pairs them as meant.

A run of `*`, `_` or `~` opens or closes a stretch by the characters beside it (CommonMark 6.2: left- and
right-flanking). Parsers disagree on some characters: symbols count as punctuation since CommonMark 0.31 but not in
GFM, some parsers see halves of astral characters, and "Unicode whitespace" has three readings. Such a character has
several classes here; `may_open` and `may_close` ask whether any reading lets a run open or close, the private
`_must_open` and `_must_close` whether every reading does. Text is escaped by the first pair, markers are placed by
the second.

`resolve_markers` decides the markers of a line in rounds:

1. choose for each stretch a marker that touches no other of its kind, and is not that of a stretch around it;
2. write as references the spaces just within markers, and letters just outside that would keep them from opening or
   closing. For example, the emphasis `a` right after the word `x` can be `x*a*`, never `x_a_`; a stretch `(a)` before
   `b` is `*(a)*&#98;`;
3. where a stretch still does not hold, give something up and begin again: join two stretches of a kind that touch,
   else drop the markers of the innermost last stretch. What Markdown cannot say loses its markers and keeps its text.

Each round has a stretch less, so it ends. Most lines take one.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product

from hudkit.compose.formats.markdown.inline import LineBuilder, LinePart

_MARKERS = {"emphasis": "*_", "strong": "*_", "delete": "~"}
_WIDTH = {"emphasis": 1, "strong": 2, "delete": 2}

# Characters that readers do not take as numeric references.
_UNCODABLE = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef]")


@dataclass(slots=True)
class _Stretch:
    """Where a stretch opens and closes among the parts, and its marker; no marker: it is dropped.

    `outer` are the numbers of the stretches around it.
    """

    opens: int
    closes: int
    marker: str = ""
    outer: tuple[int, ...] = ()


def resolve_markers(line: LineBuilder) -> list[LinePart]:
    """Return the parts of a line with every marker decided.

    Characters beside a marker are set to be written as references where it needs that.
    """
    parts = [replace(part) for part in line.parts]
    while True:
        stretches = _find_stretches(parts)
        for pair, stretch in stretches.items():
            stretch.marker = _choose_marker(line.marks[pair], stretch, stretches, parts)
        parts_before = parts
        parts = [replace(part) for part in parts]
        dropped = {pair for pair, stretch in stretches.items() if not stretch.marker}
        if not dropped:
            for pair, stretch in stretches.items():
                _encode_neighbours(stretch, parts)
                width = _WIDTH[line.marks[pair]]
                parts[stretch.opens].value = parts[stretch.closes].value = stretch.marker * width
            # Where one is within its like, it can go and loses nothing.
            if not _within_their_like(stretches, line):
                # Again: a letter encoded for one may keep another from closing.
                for stretch in stretches.values():
                    _encode_neighbours(stretch, parts)
            dropped = {pair for pair, stretch in stretches.items() if not _holds(stretch, stretches, parts)}
        if not dropped:
            return parts
        joined = _join_touching(parts_before, line)
        if joined is not None:
            parts = joined
            continue
        # One at a time, the innermost last one first: what is left may stand once it is gone. And before all others
        # one within its like, which loses nothing.
        gone = max(_within_their_like(stretches, line) or dropped)
        parts = [part for part in parts_before if part.kind in ("text", "raw") or part.pair != gone]


def _within_their_like(stretches: dict[int, _Stretch], line: LineBuilder) -> set[int]:
    return {
        pair
        for pair, stretch in stretches.items()
        if line.marks[pair] in {line.marks[outer] for outer in stretch.outer}
    }


def _join_touching(parts: list[LinePart], line: LineBuilder) -> list[LinePart] | None:
    """Return the parts with the first two stretches of a kind that touch as one; `None` where none touch."""
    for position, (part, following) in enumerate(pairwise(parts)):
        if part.kind == "close" and following.kind == "open" and line.marks[part.pair] == line.marks[following.pair]:
            left = [*parts[:position], *parts[position + 2 :]]
            return [replace(other, pair=part.pair) if other.pair == following.pair else other for other in left]
    return None


def _find_stretches(parts: list[LinePart]) -> dict[int, _Stretch]:
    stretches: dict[int, _Stretch] = {}
    open_now: list[int] = []
    for position, part in enumerate(parts):
        if part.kind == "open":
            stretches[part.pair] = _Stretch(position, -1, outer=tuple(open_now))
            open_now.append(part.pair)
        elif part.kind == "close":
            stretches[part.pair].closes = position
            open_now.pop()
    return stretches


def _choose_marker(mark: str, stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[LinePart]) -> str:
    """Return the first marker that holds without encoding, touches none of its like and is not the one around it.

    Without one that holds, the first that touches none of its like; empty where there is none.
    """
    # Two runs of one marker that touch are one run to every parser.
    taken = set()
    for beside in (parts[stretch.opens - 1] if stretch.opens else None, _part_at(parts, stretch.closes + 1)):
        if beside is not None and beside.pair in stretches and beside.kind in ("open", "close"):
            taken.add(stretches[beside.pair].marker)
    outer = {stretches[pair].marker for pair in stretch.outer}
    free = [marker for marker in _MARKERS[mark] if marker not in taken]
    # There is no other marker for struck text.
    if mark == "delete":
        return "".join(marker for marker in free if marker not in outer)
    free.sort(key=lambda marker: marker in outer)
    sides = _characters_beside(stretch, parts)
    for marker in free:
        if marker not in outer and _must_open(marker, *sides[0]) and _must_close(marker, *sides[1]):
            return marker
    return free[0] if free else ""


def _characters_beside(stretch: _Stretch, parts: list[LinePart]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the characters before and after the opening marker, and before and after the closing one."""
    before, after = _part_at(parts, stretch.opens - 1), _part_at(parts, stretch.closes + 1)
    return (
        (" " if before is None else before.last(), parts[stretch.opens + 1].first()),
        (parts[stretch.closes - 1].last(), " " if after is None else after.first()),
    )


def _part_at(parts: list[LinePart], position: int) -> LinePart | None:
    return parts[position] if 0 <= position < len(parts) else None


def _encode_neighbours(stretch: _Stretch, parts: list[LinePart]) -> None:
    """Set spaces within the markers, and letters that keep them from opening or closing, to be references."""
    opening, closing = parts[stretch.opens + 1], parts[stretch.closes - 1]
    if _SPACE in _classes(opening.first()):
        _set_reference(opening, head=True)
    if _SPACE in _classes(closing.last()):
        _set_reference(closing, head=False)
    (before, first), (last, after) = _characters_beside(stretch, parts)
    if not _must_open(stretch.marker, before, first):
        _set_reference(_part_at(parts, stretch.opens - 1), head=False)
    if not _must_close(stretch.marker, last, after):
        _set_reference(_part_at(parts, stretch.closes + 1), head=True)


def _set_reference(part: LinePart | None, *, head: bool) -> None:
    if part is None or part.kind != "text" or _UNCODABLE.match(part.value[0 if head else -1]):
        return
    # A text of one character has that at both ends.
    single = len(part.value) == 1
    part.head = part.head or head or single
    part.tail = part.tail or not head or single


def _holds(stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[LinePart]) -> bool:
    """Return whether every parser opens and closes the stretch where it is meant."""
    (before, first), (last, after) = _characters_beside(stretch, parts)
    if not (_must_open(stretch.marker, before, first) and _must_close(stretch.marker, last, after)):
        return False
    # The marker of a stretch around it, that may close here, would close that one.
    inside_like = any(stretches[pair].marker == stretch.marker for pair in stretch.outer)
    return not (inside_like and may_close(stretch.marker, before, first))


_SPACE, _PUNCTUATION, _OTHER = "s", "p", "o"
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SOME_SPACE = frozenset("\x0b\x1c\x1d\x1e\x1f\x85\u180e\u2028\u2029\ufeff")


@lru_cache(maxsize=4096)
def _classes(char: str) -> str:
    """Return the classes that parsers may give a character; an edge of the line is given as a space.

    `"s"` for a space, `"p"` for a full stop, `"o"` for a letter, `"po"` for `€`: a symbol, which is punctuation to
    some parsers only.
    """
    if char in _ASCII_PUNCTUATION:
        return _PUNCTUATION
    if char in " \t\n\r\f":
        return _SPACE
    if char.isascii() and char.isalnum():
        return _OTHER
    category = unicodedata.category(char)
    if category[0] == "L" or category[0] == "N":
        return _OTHER
    if category == "Zs":
        return _SPACE
    if category[0] == "P" and ord(char) < 0x10000:
        return _PUNCTUATION
    if category[0] in "PS":
        return _PUNCTUATION + _OTHER
    return _SPACE + _OTHER if char in _SOME_SPACE else _OTHER


@lru_cache(maxsize=4096)
def _readings(before: str, after: str) -> tuple[tuple[bool, bool, str, str], ...]:
    """Return for every reading of two classes: left-flanking, right-flanking, the class before, the class after."""
    readings = []
    for left, right in product(before, after):
        opens = right != _SPACE and (right != _PUNCTUATION or left != _OTHER)
        closes = left != _SPACE and (left != _PUNCTUATION or right != _OTHER)
        readings.append((opens, closes, left, right))
    return tuple(readings)


def _opens(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, left, _ = reading
    # An underscore within a word is a letter of it: `snake_case_name`.
    return opens and (marker != "_" or not closes or left == _PUNCTUATION)


def _closes(marker: str, reading: tuple[bool, bool, str, str]) -> bool:
    opens, closes, _, right = reading
    return closes and (marker != "_" or not opens or right == _PUNCTUATION)


def may_open(marker: str, before: str, after: str) -> bool:
    """Return whether some parser may take a run of `marker` between these two characters as an opening one."""
    return any(_opens(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def may_close(marker: str, before: str, after: str) -> bool:
    """Return whether some parser may take a run of `marker` between these two characters as a closing one."""
    return any(_closes(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def _must_open(marker: str, before: str, after: str) -> bool:
    return all(_opens(marker, reading) for reading in _readings(_classes(before), _classes(after)))


def _must_close(marker: str, before: str, after: str) -> bool:
    return all(_closes(marker, reading) for reading in _readings(_classes(before), _classes(after)))
