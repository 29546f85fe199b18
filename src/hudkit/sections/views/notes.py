"""Notes: the agent's scratchpad."""

from __future__ import annotations

from hudkit.compose import Element, component
from hudkit.sections.notes import Notes as NotesState
from hudkit.sections.views.section import Line, Row, Section, View, label, listed


@component
def Notes(notes: NotesState, view: View) -> Element | None:
    return listed("notes", "Notes", (Line(n.id, n.content, label=label(n.mark.origin)) for n in notes), view)


def rows(notes: NotesState) -> tuple[Row, ...]:
    return tuple(Row(n.id, n.content + label(n.mark.origin)) for n in notes)


SECTION = Section("notes", "Notes", "note", ("notes",), Notes, rows)
