"""Notes: the agent's scratchpad."""

from __future__ import annotations

from hudkit.components.section import Line, Row, Section, View, label, listed
from hudkit.document import Element, component
from hudkit.projections.notes import Notes as NotesState


@component
def Notes(notes: NotesState, view: View) -> Element | None:
    return listed("notes", "Notes", (Line(n.id, n.content, label=label(n.mark.origin)) for n in notes), view)


def rows(notes: NotesState) -> tuple[Row, ...]:
    return tuple(Row(n.id, n.content + label(n.mark.origin)) for n in notes)


SECTION = Section("notes", "Notes", "note", ("notes",), Notes, rows)
