"""Numbered items: what the sections that hold a list of texts have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from hudkit.log.event import Event, Origin


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something comes from: the event's sequence number, its time (Unix ms), turn and origin, and the session
    from which it was taken up (empty: this one)."""

    seq: int = 0
    at: int = 0
    turn: int = 0
    origin: Origin = Origin.AGENT
    taken: str = ""


def mark(event: Event) -> Mark:
    """The mark of what this event makes or changes."""
    return Mark(event.seq, event.timestamp, event.turn, event.origin, getattr(event.payload, "taken", ""))


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a section: an id that the agent can name it by, and the mark of its last change."""

    id: str = ""
    mark: Mark = Mark()

    @property
    def words(self) -> str:
        """The text by which an item is known; two items of a section never have the same."""
        raise NotImplementedError


I = TypeVar("I", bound=Item)  # noqa: E741


class Items(msgspec.Struct, Generic[I], frozen=True, omit_defaults=True):
    """A section's items in order, and how many it ever had (so that an id is never given twice).

    A sequence of its items: `len`, iteration and indexing work.
    """

    items: tuple[I, ...] = ()
    count: int = 0

    def __iter__(self) -> Iterator[I]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> I: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[I, ...]: ...
    def __getitem__(self, place: int | slice) -> I | tuple[I, ...]:
        return self.items[place]

    def get(self, id: str) -> I | None:
        """The item with this id."""
        for item in self.items:
            if item.id == id:
                return item
        return None

    def find(self, words: str) -> I | None:
        """The item with this text."""
        for item in self.items:
            if item.words == words:
                return item
        return None


S = TypeVar("S", bound="Items[Any]")


def _with(section: S, items: Sequence[Item], count: int | None = None) -> S:
    return msgspec.structs.replace(section, items=tuple(items), count=section.count if count is None else count)


def add(section: S, prefix: str, item: Item) -> S:
    """The section with one more item; unchanged where it has that text or that id already.

    An item without an id is numbered: `prefix` and how many the section ever had.
    """
    if section.find(item.words) is not None or (item.id and section.get(item.id) is not None):
        return section
    count = section.count + 1
    if not item.id:
        while section.get(f"{prefix}{count}") is not None:
            count += 1
        item = msgspec.structs.replace(item, id=f"{prefix}{count}")
    return _with(section, (*section.items, item), count)


def drop(section: S, id: str) -> S:
    """The section without the item of this id; unchanged where there is none."""
    kept = [item for item in section.items if item.id != id]
    return section if len(kept) == len(section.items) else _with(section, kept)


def change(section: S, id: str, event: Event, **fields: object) -> S:
    """The section with some fields of one item changed by `event`; unchanged where that changes nothing."""
    for place, item in enumerate(section.items):
        if item.id == id:
            if all(getattr(item, name) == value for name, value in fields.items()):
                return section
            changed = msgspec.structs.replace(item, mark=mark(event), **fields)
            return _with(section, (*section.items[:place], changed, *section.items[place + 1 :]))
    return section


def replace_texts(section: S, prefix: str, values: Sequence[str], make: Callable[[str], Item]) -> S:
    """The section with exactly these texts, in this order, once each; an item whose text stays stays as it was."""
    emptied = cleared(section)
    for value in values:
        kept = section.find(value)
        emptied = add(emptied, prefix, make(value)) if kept is None else _with(emptied, (*emptied.items, kept))
    unique = {item.id: item for item in emptied.items}
    return _with(emptied, tuple(unique.values()))


def cleared(section: S) -> S:
    """The section without items; the count goes on."""
    return _with(section, ()) if section.items else section


REFUSED_KEPT = 200
"""Texts of removed derived items that are remembered, the newest."""


def confirmed(section: S, id: str, event: Event) -> S:
    """The section with a derived item that is no longer marked so; it keeps the origin of its text."""
    for place, item in enumerate(section.items):
        if item.id == id and item.derived:
            kept = msgspec.structs.replace(mark(event), origin=item.mark.origin)
            sure = msgspec.structs.replace(item, derived=False, mark=kept)
            return _with(section, (*section.items[:place], sure, *section.items[place + 1 :]))
    return section


def derivable(section: Any, text: str) -> bool:
    """Whether a rule may put this text into the section: nobody has removed it from there."""
    return text not in section.refused


def refused(before: S, after: S) -> S:
    """`after`, which remembers the derived items of `before` that it does not have."""
    ids = {item.id for item in after.items}
    gone = tuple(item.words for item in before.items if item.derived and item.id not in ids)
    if not gone:
        return after
    known = tuple(text for text in getattr(before, "refused") if text not in gone)  # noqa: B009
    return msgspec.structs.replace(after, refused=(*known, *gone)[-REFUSED_KEPT:])
