"""The markers of strong, emphasised and struck stretches: chosen so that every parser pairs them as meant.

What Markdown cannot say (a stretch whose markers would not open or close where they stand) loses its markers and
keeps its text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hudkit.compose.formats.markdown.draft import UNCODABLE, Draft, Part
from hudkit.compose.formats.markdown.flanking import SPACE, classes, may_close, must_close, must_open

_MARKERS = {"emphasis": "*_", "strong": "*_", "delete": "~"}
_WIDTH = {"emphasis": 1, "strong": 2, "delete": 2}


@dataclass(slots=True)
class _Stretch:
    """Where a stretch opens and closes among the parts, and its marker; no marker: it is dropped."""

    opens: int
    closes: int
    marker: str = ""
    outer: tuple[int, ...] = ()


def settle(draft: Draft) -> list[Part]:
    """The parts of a draft with every marker decided; characters beside a marker are encoded where it needs that."""
    parts = [replace(part) for part in draft.parts]
    while True:
        stretches = _stretches(parts)
        for pair, stretch in stretches.items():
            stretch.marker = _choose(draft.marks[pair], stretch, stretches, parts)
        parts_before = parts
        parts = [replace(part) for part in parts]
        dropped = {pair for pair, stretch in stretches.items() if not stretch.marker}
        if not dropped:
            for pair, stretch in stretches.items():
                _encode(stretch, parts)
                width = _WIDTH[draft.marks[pair]]
                parts[stretch.opens].value = parts[stretch.closes].value = stretch.marker * width
            if not _within_their_like(stretches, draft):  # one of those can go, and loses nothing
                for stretch in stretches.values():  # again: a letter encoded for one may keep another from closing
                    _encode(stretch, parts)
            dropped = {pair for pair, stretch in stretches.items() if not _holds(stretch, stretches, parts)}
        if not dropped:
            return parts
        joined = _joined(parts_before, draft)
        if joined is not None:
            parts = joined
            continue
        # one at a time, the innermost last one first: what is left may stand once it is gone; and before all others
        # one within its like, which loses nothing
        gone = max(_within_their_like(stretches, draft) or dropped)
        parts = [part for part in parts_before if part.kind in ("text", "raw") or part.pair != gone]


def _within_their_like(stretches: dict[int, _Stretch], draft: Draft) -> set[int]:
    return {pair for pair, one in stretches.items() if draft.marks[pair] in {draft.marks[n] for n in one.outer}}


def _joined(parts: list[Part], draft: Draft) -> list[Part] | None:
    """The parts with the first two stretches of a kind that touch as one, which loses nothing; `None`: none touch."""
    for place, (one, then) in enumerate(pairwise(parts)):
        if one.kind == "close" and then.kind == "open" and draft.marks[one.pair] == draft.marks[then.pair]:
            left = [*parts[:place], *parts[place + 2 :]]
            return [replace(part, pair=one.pair) if part.pair == then.pair else part for part in left]
    return None


def _stretches(parts: list[Part]) -> dict[int, _Stretch]:
    found: dict[int, _Stretch] = {}
    open_now: list[int] = []
    for place, part in enumerate(parts):
        if part.kind == "open":
            found[part.pair] = _Stretch(place, -1, outer=tuple(open_now))
            open_now.append(part.pair)
        elif part.kind == "close":
            found[part.pair].closes = place
            open_now.pop()
    return found


def _choose(mark: str, stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[Part]) -> str:
    """The first marker that neither touches its like nor repeats the one around it, and holds without encoding."""
    taken = set()
    for beside in (parts[stretch.opens - 1] if stretch.opens else None, _at(parts, stretch.closes + 1)):
        if beside is not None and beside.pair in stretches and beside.kind in ("open", "close"):
            taken.add(stretches[beside.pair].marker)
    outer = {stretches[pair].marker for pair in stretch.outer}
    free = [marker for marker in _MARKERS[mark] if marker not in taken]
    if mark == "delete":
        return "".join(marker for marker in free if marker not in outer)
    free.sort(key=lambda marker: marker in outer)
    sides = _sides(stretch, parts)
    for marker in free:
        if marker not in outer and must_open(marker, *sides[0]) and must_close(marker, *sides[1]):
            return marker
    return free[0] if free else ""


def _sides(stretch: _Stretch, parts: list[Part]) -> tuple[tuple[str, str], tuple[str, str]]:
    """The characters before and after the opening marker, and before and after the closing one."""
    return (
        (_last(parts, stretch.opens - 1), parts[stretch.opens + 1].first()),
        (parts[stretch.closes - 1].last(), _first(parts, stretch.closes + 1)),
    )


def _at(parts: list[Part], place: int) -> Part | None:
    return parts[place] if 0 <= place < len(parts) else None


def _last(parts: list[Part], place: int) -> str:
    part = _at(parts, place)
    return " " if part is None else part.last()


def _first(parts: list[Part], place: int) -> str:
    part = _at(parts, place)
    return " " if part is None else part.first()


def _encode(stretch: _Stretch, parts: list[Part]) -> None:
    """Write spaces within the markers, and letters that keep them from opening or closing, as references."""
    opening, closing = parts[stretch.opens + 1], parts[stretch.closes - 1]
    if SPACE in classes(opening.first()):
        _as_reference(opening, head=True)
    if SPACE in classes(closing.last()):
        _as_reference(closing, head=False)
    (before, first), (last, after) = _sides(stretch, parts)
    if not must_open(stretch.marker, before, first):
        _as_reference(_at(parts, stretch.opens - 1), head=False)
    if not must_close(stretch.marker, last, after):
        _as_reference(_at(parts, stretch.closes + 1), head=True)


def _as_reference(part: Part | None, *, head: bool) -> None:
    if part is None or part.kind != "text" or UNCODABLE.match(part.value[0 if head else -1]):
        return
    single = len(part.value) == 1
    part.head = part.head or head or single
    part.tail = part.tail or not head or single


def _holds(stretch: _Stretch, stretches: dict[int, _Stretch], parts: list[Part]) -> bool:
    (before, first), (last, after) = _sides(stretch, parts)
    if not (must_open(stretch.marker, before, first) and must_close(stretch.marker, last, after)):
        return False
    inside_like = any(stretches[pair].marker == stretch.marker for pair in stretch.outer)
    return not (inside_like and may_close(stretch.marker, before, first))
