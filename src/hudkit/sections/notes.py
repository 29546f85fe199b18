"""Notes: the agent's scratchpad."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from hudkit.log.event import Event
from hudkit.log.payloads import NoteAdd, NoteRemove, NoteUpdate, SectionClear, SectionReplace
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    change_item,
    clear_items,
    mark_of,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, origin_label

_SERIES_SHOWN = 3
"""Notes that differ in their numbers alone, the newest, that have their turn with all others."""

_SERIES_PRIORITY = -50
"""The priority of the older ones of such a series: any of the others says what they are, so that they come behind the
whole texts of the notes that stand alone."""

_NUMBER = re.compile(r"\d+")


class Note(SectionItem, frozen=True, omit_defaults=True):
    """A text that the agent wants to remember."""

    content: str = ""

    @property
    def words(self) -> str:
        """Return the note."""
        return self.content


class NotesState(ItemList[Note], frozen=True, omit_defaults=True):
    """Live notes in the order in which they were added."""


def _reduce(notes: NotesState, event: Event) -> NotesState:
    match event.payload:
        case NoteAdd(content=content, id=id):
            return add_item(notes, "n", Note(id, mark_of(event), content))
        case NoteUpdate(id=id, content=content):
            return change_item(notes, id, event, content=content)
        case NoteRemove(id=id):
            return remove_item(notes, id)
        case SectionReplace(section="notes", values=values):
            return replace_texts(notes, "n", values, lambda text: Note("", mark_of(event), text))
        case SectionClear(section="notes" | ""):
            return clear_items(notes)
    return notes


def _items(notes: NotesState) -> Iterator[ShownItem]:
    newer = Counter(_without_numbers(note.content) for note in notes.items)
    for note in notes.items:
        series = _without_numbers(note.content)
        newer[series] -= 1
        priority = _SERIES_PRIORITY if newer[series] >= _SERIES_SHOWN else None
        yield ShownItem(note.id, note.content, label=origin_label(note.mark.origin), priority=priority)


@lru_cache(maxsize=4096)
def _without_numbers(text: str) -> str:
    """What the notes of a series have in common: readings, sheets, or attempts that were written down one by one."""
    return _NUMBER.sub("0", text)


def _rows(notes: NotesState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(note.id, note.content + origin_label(note.mark.origin)) for note in notes.items)


LOGIC = SectionLogic(
    handles=(NoteAdd, NoteUpdate, NoteRemove, SectionReplace, SectionClear), reduce=_reduce, items=_items, rows=_rows
)
