"""Operations on notes, the agent's scratchpad."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import NoteAdd, NoteRemove, NoteUpdate, Payload
from hudkit.sections.notes import Note
from hudkit.sections.state import HudState
from hudkit.tools.lines import Page, listing, row
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import SHOWN, Answer, Arguments, Call, Row, Text, alias, operation, reading, section
from hudkit.tools.record import added, record, removed

NoteName = Annotated[Name, Meta(description="The note's id, its text, or a part of it that no other note has.")]


class NewNote(Arguments, frozen=True):
    content: Annotated[Text, Meta(description="What to remember.")]


class NoteChange(Arguments, frozen=True):
    id: NoteName
    content: Annotated[Text, Meta(description="What the note says from now on.")]


class ThatNote(Arguments, frozen=True):
    id: NoteName


class HudNote(Arguments, frozen=True):
    note: Annotated[Text, Meta(description="What to remember.")]


@section("notes", "Notes", replaces="texts", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(row(note, note.content) for note in state.notes)


def _named(state: HudState, name: str) -> Note:
    return named(state.notes.items, name, "note", lambda note: note.content)


@reading("notes.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the notes in full, the newest last."""
    return listing(SHOWN["notes"], rows(session.state), args, session.state.time)


@operation("notes.add", NewNote, example={"content": "Refresh tokens live 7 days"})
def add(session: SessionCore, args: NewNote, origin: Origin) -> Answer:
    """Add a note. A note with the same text is not added twice."""
    return added(session, origin, "notes", "note", NoteAdd(args.content))


@operation("notes.update", NoteChange, example={"id": "n1", "content": "Refresh tokens live 14 days"})
def update(session: SessionCore, args: NoteChange, origin: Origin) -> Answer:
    """Change what a note says. Where another note says so already, only that one stays."""
    ids = ["", ""]

    def decide(state: HudState) -> Sequence[Payload]:
        note, twin = _named(state, args.id), state.notes.find(args.content)
        merged = twin is not None and twin.id != note.id
        ids[:] = note.id, twin.id if twin is not None and merged else ""
        return (NoteRemove(note.id) if merged else NoteUpdate(note.id, args.content),)

    change = record(session, origin, decide)
    id, twin = ids
    if twin:
        return Answer(f"Already there: note {twin}; removed {id}.", {"id": twin, "recorded": True})
    text = f"Updated note {id}." if change else f"Note {id} says so already."
    return Answer(text + change.note, {"id": id, "recorded": bool(change)})


@operation("notes.remove", ThatNote, example={"id": "n1"})
def remove(session: SessionCore, args: ThatNote, origin: Origin) -> Answer:
    """Remove a note; the log keeps it."""
    return removed(session, origin, "note", lambda state: _named(state, args.id), NoteRemove)


@alias("hud_note", HudNote, writes=True, example={"note": "Refresh tokens live 7 days"})
def hud_note(args: HudNote) -> Call:
    """Add a note."""
    return Call("notes.add", NewNote(args.note))


@alias("hud_notes", Page)
def hud_notes(args: Page) -> Call:
    """List the notes in full."""
    return Call("notes.list", args)
