"""Notes: the agent's scratchpad."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event
from hudkit.log.payloads import (
    NoteAdd,
    NoteConfirm,
    NoteRemove,
    NoteUpdate,
    SectionClear,
    SectionReplace,
    StatementDoubt,
    StatementPromote,
)
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    change_item,
    clear_items,
    confirm_item,
    doubt_item,
    mark_of,
    may_derive,
    promote_item,
    remember_refused,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, derived_label

_SERIES_SHOWN = 3
"""Notes that differ in their numbers alone, the newest, that have their turn with all others."""

_SERIES_PRIORITY = -50
"""The priority of the older ones of such a series: any of the others says what they are, so that they come behind the
whole texts of the notes that stand alone."""

MAX_DERIVED_NOTES = 24
"""Facts that are kept of those that were read from plain words, the newest: some 400 tokens."""

_NUMBER = lazy_pattern(r"\d+")


class Note(SectionItem, frozen=True, omit_defaults=True):
    """A text that the agent wants to remember; a `derived` one is a fact that was read from the user's words.

    `doubt` is a later sentence against it; it names an exception where the note is `suspended`.
    """

    content: str = ""
    derived: bool = False
    doubt: str = ""
    suspended: bool = False

    @property
    def words(self) -> str:
        """Return the note."""
        return self.content


class NotesState(ItemList[Note], frozen=True, omit_defaults=True):
    """Live notes in the order in which they were added.

    `refused` are the texts of derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


def _reduce(notes: NotesState, event: Event) -> NotesState:
    match event.payload:
        case NoteAdd(content=content, id=id, derived=derived):
            if derived and not may_derive(notes, content):
                return notes
            notes = _without_oldest_derived(notes) if derived else notes
            return add_item(notes, "n", Note(id, mark_of(event), content, derived))
        case NoteUpdate(id=id, content=content):
            return change_item(notes, id, event, content=content, derived=False, doubt="", suspended=False)
        case NoteRemove(id=id, content=content, derived=derived):
            gone = notes.get(id) if id else notes.find(content)
            if gone is None:
                return notes
            after = remove_item(notes, gone.id)
            # What another value replaces may be stated again; what a person removes may not be derived again.
            return after if derived else remember_refused(notes, after)
        case NoteConfirm(id=id):
            return confirm_item(notes, id, event)
        case StatementPromote(section="notes", text=text):
            return promote_item(notes, text, event)
        case StatementDoubt(section="notes", text=text, by=by, suspended=suspended):
            return doubt_item(notes, text, by, suspended)
        case SectionReplace(section="notes", values=values):
            after = replace_texts(notes, "n", values, lambda text: Note("", mark_of(event), text))
            return remember_refused(notes, after)
        case SectionClear(section="notes" | ""):
            return remember_refused(notes, clear_items(notes))
    return notes


def _without_oldest_derived(notes: NotesState) -> NotesState:
    """The notes with room for one more that is derived: what the agent wrote down is never pushed out."""
    derived = [note for note in notes.items if note.derived]
    return remove_item(notes, derived[0].id) if len(derived) >= MAX_DERIVED_NOTES else notes


def _items(notes: NotesState) -> Iterator[ShownItem]:
    newer = Counter(_without_numbers(note.content) for note in notes.items)
    for note in notes.items:
        series = _without_numbers(note.content)
        newer[series] -= 1
        # What may be over leaves with the next base.
        if note.doubt and not note.suspended:
            continue
        priority = _SERIES_PRIORITY if newer[series] >= _SERIES_SHOWN else None
        yield ShownItem(note.id, note.content, label=derived_label(note), priority=priority)


@lru_cache(maxsize=4096)
def _without_numbers(text: str) -> str:
    """What the notes of a series have in common: readings, sheets, or attempts that were written down one by one."""
    return _NUMBER.sub("0", text)


def _rows(notes: NotesState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(note.id, note.content + derived_label(note)) for note in notes.items)


LOGIC = SectionLogic(
    handles=(
        NoteAdd,
        NoteUpdate,
        NoteRemove,
        NoteConfirm,
        StatementDoubt,
        StatementPromote,
        SectionReplace,
        SectionClear,
    ),
    reduce=_reduce,
    items=_items,
    rows=_rows,
)
