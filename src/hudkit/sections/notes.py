"""Notes: the agent's scratchpad."""

from __future__ import annotations

from hudkit.log.event import Event
from hudkit.log.payloads import NoteAdd, NoteRemove, NoteUpdate, SectionClear, SectionReplace
from hudkit.sections.items import Item, Items, add, change, cleared, drop, mark, replace_texts


class Note(Item, frozen=True, omit_defaults=True):
    content: str = ""

    @property
    def words(self) -> str:
        return self.content


class Notes(Items[Note], frozen=True, omit_defaults=True):
    """Live notes in the order in which they were added."""


HANDLES = (NoteAdd, NoteUpdate, NoteRemove, SectionReplace, SectionClear)


def reduce(notes: Notes, event: Event) -> Notes:
    match event.payload:
        case NoteAdd(content=content, id=id):
            return add(notes, "n", Note(id, mark(event), content))
        case NoteUpdate(id=id, content=content):
            return change(notes, id, event, content=content)
        case NoteRemove(id=id):
            return drop(notes, id)
        case SectionReplace(section="notes", values=values):
            return replace_texts(notes, "n", values, lambda text: Note("", mark(event), text))
        case SectionClear(section="notes" | ""):
            return cleared(notes)
    return notes
