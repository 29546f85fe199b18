"""Numbered items: what the sections that hold a list of texts have in common, and the changes their reducers make.

Every function here takes a list and returns one. Where nothing changes it returns the very object that it was given:
a view that compares with `is` then knows that it need not be built again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

import msgspec

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import Level

MAX_REFUSED = 200
"""Texts of removed derived items that are remembered, the newest: enough for a long session, small in a snapshot."""


MAX_RECENT = 8
"""Steps, and files, that are shown as done before a compaction, the newest."""


class Compactions(Protocol):
    """The compactions of a session, as far as views of items look at them."""

    @property
    def compacted(self) -> int:
        """Return the event of the last one; 0 where there was none."""


class ItemMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where something comes from: the event's sequence number, its time (Unix ms), turn and origin, and the session
    from which it was taken up (empty: this one). `level` is where it holds beyond its session."""

    seq: int = 0
    time: int = msgspec.field(default=0, name="at")
    turn: int = 0
    origin: Origin = Origin.AGENT
    taken_from: str = msgspec.field(default="", name="taken")
    level: Level = ""


_MAY_PROMOTE = (Origin.USER, Origin.SYSTEM)
"""Who may say that something holds beyond its session: its user, and hudkit where it takes up what the user said."""


def mark_of(event: Event) -> ItemMark:
    """Return the mark of what this event makes or changes."""
    taken_from = getattr(event.payload, "taken_from", "")
    level: Level = getattr(event.payload, "level", "") if event.origin in _MAY_PROMOTE else ""
    return ItemMark(event.seq, event.timestamp, event.turn, event.origin, taken_from, level)


class SectionItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One item of a section: an id that the agent can name it by, and the mark of its last change."""

    id: str = ""
    mark: ItemMark = ItemMark()

    @property
    def words(self) -> str:
        """Return the text by which an item is known; two items of a section never have the same."""
        raise NotImplementedError


I = TypeVar("I", bound=SectionItem)  # noqa: E741


class ItemList(msgspec.Struct, Generic[I], frozen=True, omit_defaults=True):
    """A section's items in order, and how many it ever had (so that an id is never given twice).

    It is a sequence of its items: `len`, iteration and indexing work.
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
        """Return the item with this id, or `None`."""
        for item in self.items:
            if item.id == id:
                return item
        return None

    def find(self, words: str) -> I | None:
        """Return the item with this text, or `None`."""
        for item in self.items:
            if item.words == words:
                return item
        return None


S = TypeVar("S", bound="ItemList[Any]")


def _with_items(section: S, items: Sequence[SectionItem], count: int | None = None) -> S:
    new_count = section.count if count is None else count
    return msgspec.structs.replace(section, items=tuple(items), count=new_count)


def add_item(section: S, prefix: str, item: SectionItem) -> S:
    """Return the section with one more item; unchanged where it has that text or that id already.

    An item without an id is numbered: `prefix` and how many items the section ever had, as in `n3`.
    """
    if section.find(item.words) is not None or (item.id and section.get(item.id) is not None):
        return section
    count = section.count + 1
    if not item.id:
        # An imported item may have brought this id along.
        while section.get(f"{prefix}{count}") is not None:
            count += 1
        item = msgspec.structs.replace(item, id=f"{prefix}{count}")
    return _with_items(section, (*section.items, item), count)


def remove_item(section: S, id: str) -> S:
    """Return the section without the item of this id; unchanged where there is none."""
    remaining = [item for item in section.items if item.id != id]
    return section if len(remaining) == len(section.items) else _with_items(section, remaining)


def change_item(section: S, id: str, event: Event, **fields: object) -> S:
    """Return the section with some fields of one item changed by `event`; unchanged where that changes nothing."""
    for place, item in enumerate(section.items):
        if item.id == id:
            if all(getattr(item, name) == value for name, value in fields.items()):
                return section
            changed = msgspec.structs.replace(item, mark=mark_of(event), **fields)
            return _with_items(section, (*section.items[:place], changed, *section.items[place + 1 :]))
    return section


def replace_texts(section: S, prefix: str, values: Sequence[str], make: Callable[[str], SectionItem]) -> S:
    """Return the section with exactly these texts, in this order, once each; an item whose text stays is not touched.

    `make` builds the item of a text that is new here.
    """
    existing = {item.words: item for item in section.items}
    # Those of all items, also of ones behind a new text: an imported item may have brought its own along.
    taken, count = {item.id for item in section.items}, section.count
    replaced: dict[str, SectionItem] = {}
    for value in dict.fromkeys(values):
        item = existing.get(value)
        if item is None:
            count = next(number for number in itertools.count(count + 1) if f"{prefix}{number}" not in taken)
            item = msgspec.structs.replace(make(value), id=f"{prefix}{count}")
        replaced[item.words] = item
    return _with_items(section, tuple(replaced.values()), count)


def clear_items(section: S) -> S:
    """Return the section without items; the count goes on, so that no id comes back."""
    return _with_items(section, ()) if section.items else section


def confirm_item(section: S, id: str, event: Event) -> S:
    """Return the section with a derived item that is no longer marked so; it keeps the origin of its text."""
    for place, item in enumerate(section.items):
        if item.id == id and item.derived:
            # Whoever confirms a text did not write it.
            mark = msgspec.structs.replace(mark_of(event), origin=item.mark.origin)
            confirmed = msgspec.structs.replace(item, derived=False, mark=mark, doubt="", suspended=False)
            return _with_items(section, (*section.items[:place], confirmed, *section.items[place + 1 :]))
    return section


def promote_item(section: S, text: str, event: Event) -> S:
    """Return the section with the item of this text as one that its user made hold beyond the session, or took back.

    It is no longer derived, and keeps the origin of its text. Unchanged where the event is not the user's.
    """
    item = section.find(text)
    if item is None or event.origin not in _MAY_PROMOTE:
        return section
    place = section.items.index(item)
    mark = msgspec.structs.replace(mark_of(event), origin=item.mark.origin, taken_from=item.mark.taken_from)
    promoted = msgspec.structs.replace(item, derived=False, mark=mark, doubt="", suspended=False)
    return _with_items(section, (*section.items[:place], promoted, *section.items[place + 1 :]))


def doubt_item(section: S, text: str, by: str, suspended: bool) -> S:
    """Return the section with the derived item of this text marked: the sentence `by` speaks against it."""
    for place, item in enumerate(section.items):
        if item.words == text and item.derived:
            doubted = msgspec.structs.replace(item, doubt=by, suspended=suspended)
            return _with_items(section, (*section.items[:place], doubted, *section.items[place + 1 :]))
    return section


def may_derive(section: Any, text: str) -> bool:
    """Return whether a rule may put this text into the section: nobody has removed it from there."""
    return text not in section.refused


def remember_refused(before: S, after: S) -> S:
    """Return `after`, which remembers the texts of those derived items of `before` that it does not have."""
    remaining_ids = {item.id for item in after.items}
    gone = tuple(item.words for item in before.items if item.derived and item.id not in remaining_ids)
    if not gone:
        return after
    earlier = tuple(text for text in getattr(before, "refused") if text not in gone)  # noqa: B009
    return msgspec.structs.replace(after, refused=(*earlier, *gone)[-MAX_REFUSED:])
