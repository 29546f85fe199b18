"""Notes: the agent's scratchpad."""

from __future__ import annotations

from collections.abc import Iterator

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
    for note in notes.items:
        yield ShownItem(note.id, note.content, label=origin_label(note.mark.origin))


def _rows(notes: NotesState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(note.id, note.content + origin_label(note.mark.origin)) for note in notes.items)


LOGIC = SectionLogic(
    handles=(NoteAdd, NoteUpdate, NoteRemove, SectionReplace, SectionClear), reduce=_reduce, items=_items, rows=_rows
)
