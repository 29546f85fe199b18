"""What of a transcript the call before had sent already, and which message departs first: by anchors and lengths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from hudkit.log.payloads import Departure, Sent


class Piece(NamedTuple):
    """A message as a host sends it: its anchor, its role, and its characters. A change of a message that leaves its
    length as it was is not seen."""

    anchor: str
    role: str
    size: int


def compare(before: Sequence[Piece] | None, now: Sequence[Piece]) -> Sent:
    """What `now` has in common with the call `before` (`None`: not known). Linear in both.

    A transcript that only grew, or only ends earlier, departs nowhere.
    """
    size, last = sum(piece.size for piece in now), now[-1].size if now else 0
    if before is None:
        return Sent(len(now), size, last)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))
    place = sum(1 for _ in alike)
    kept = sum(piece.size for piece in now[:place])
    first = _departure(before, now, place) if place < min(len(before), len(now)) else None
    return Sent(len(now), size, last, kept, first)


def _departure(before: Sequence[Piece], now: Sequence[Piece], place: int) -> Departure:
    old, new = before[place], now[place]
    known = set(before[place:])
    again = sum(piece.size for piece in now[place:] if piece in known)
    if old.anchor == new.anchor:
        return Departure(new.anchor, new.role, "changed", place, old.size, new.size, again)
    if any(piece.anchor == old.anchor for piece in now[place:]):
        return Departure(new.anchor, new.role, "new", place, 0, new.size, again)
    return Departure(old.anchor, old.role, "gone", place, old.size, 0, again)
