"""Operations on notes, the agent's scratchpad."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import NoteAdd, NoteConfirm, NoteRemove, NoteUpdate, Payload
from hudkit.sections.notes import Note
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import PageArguments, derived_word, item_row, list_rows, quote
from hudkit.tools.decisions import record_decision
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    AnyText,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, record, remove_from_section
from hudkit.tools.replaced_item import decision_in, replaced_item, same_item, twin_error
from hudkit.tools.resolve_item import ItemName, ItemNames, resolve_item, resolve_items

NoteName = Annotated[ItemName, Meta(description="The note's id, its text, or a part of it that no other note has.")]


class _NewNote(OperationArguments, frozen=True):
    content: Annotated[TextOrTexts, Meta(description="What to remember; of a list, each is a note.")]


class _NoteChange(OperationArguments, frozen=True):
    content: Annotated[Text, Meta(description="What the note says from now on.")]
    id: Annotated[
        AnyText,
        Meta(description="The note's id, its text, or a part of it; left out: the note most like the new text."),
    ] = ""


class _TheseNotes(OperationArguments, frozen=True):
    id: Annotated[ItemNames, Meta(description="The note, or a list of notes: id, text, or words that no other has.")]


class _HudNote(OperationArguments, frozen=True):
    note: Annotated[Text, Meta(description="What to remember.")]


@section_listing("notes", "Notes", replaces="texts", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(note, note.content, derived_word(note)) for note in state.notes)


def _resolve(state: HudState, name: str) -> Note:
    return resolve_item(state.notes.items, name, "note", lambda note: note.content)


@reading("notes.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the notes in full, the newest last."""
    return list_rows(SECTION_LISTINGS["notes"], _rows(session.state), args, session.state.time)


@operation("notes.add", _NewNote, example={"content": "Refresh tokens live 7 days"})
def _add(session: SessionCore, args: _NewNote, origin: Origin) -> OperationResult:
    """Add notes. A note with the same text is not added twice; one that corrects another takes its place.

    A note that announces a decision ("we've settled on …") is recorded as one.
    """
    if isinstance(args.content, str):
        announces, replaced = decision_in(session.state, args.content)
        if announces:
            answer = record_decision(session, args.content, replaced, origin)
            return OperationResult(f"{answer.text} It is a decision and no note.", answer.data)
    old = replaced_item(session.state.notes.items, args.content) if isinstance(args.content, str) else None
    if old is not None and isinstance(args.content, str):
        with suppress(OperationError):  # removed by another writer meanwhile
            answer = _update(session, _NoteChange(args.content, old.id), origin)
            return OperationResult(f"{answer.text} It said: {quote(old.content)}.", answer.data)
    return add_to_section(session, origin, "notes", "note", args.content, NoteAdd)


@operation("notes.update", _NoteChange, example={"id": "n1", "content": "Refresh tokens live 14 days"})
def _update(session: SessionCore, args: _NoteChange, origin: Origin) -> OperationResult:
    """Change what a note says; what another note says already is refused."""
    id = ""

    def decide(state: HudState) -> Sequence[Payload]:
        nonlocal id
        note, twin = _resolve(state, args.id or args.content), state.notes.find(args.content)
        id = note.id
        if twin is not None and twin.id != id:
            raise twin_error("note", id, twin.id)
        return () if same_item((note,), args.content) else (NoteUpdate(id, args.content),)

    change = record(session, origin, decide)
    text = f"Updated note {id}." if change else f"Note {id} says so already."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change)})


@operation("notes.remove", _TheseNotes, example={"id": "n1"})
def _remove(session: SessionCore, args: _TheseNotes, origin: Origin) -> OperationResult:
    """Remove notes; the log keeps them."""

    def pick(state: HudState) -> Sequence[Note]:
        return resolve_items(state.notes.items, args.id, "note", lambda note: note.content)

    return remove_from_section(session, origin, "note", pick, NoteRemove, several=not isinstance(args.id, str))


@operation("notes.confirm", _TheseNotes, example={"id": "n1"})
def _confirm(session: SessionCore, args: _TheseNotes, origin: Origin) -> OperationResult:
    """Say that derived notes are right; they are not marked as derived any more."""

    def pick(state: HudState) -> Sequence[Note]:
        return resolve_items(state.notes.items, args.id, "note", lambda note: note.content)

    several = not isinstance(args.id, str)
    return remove_from_section(session, origin, "note", pick, NoteConfirm, several=several, verb="Confirmed")


@alias("hud_note", _HudNote, writes=True, example={"note": "Refresh tokens live 7 days"})
def _hud_note(args: _HudNote) -> OperationCall:
    """Add a note."""
    return OperationCall("notes.add", _NewNote(args.note))


@alias("hud_notes", PageArguments)
def _hud_notes(args: PageArguments) -> OperationCall:
    """List the notes in full."""
    return OperationCall("notes.list", args)
