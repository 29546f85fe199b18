"""What the parent of a session shares with it, and what its subagents brought back; each line says whose it is."""

from __future__ import annotations

from collections.abc import Iterator

from hudkit.compose import Element, component, shorten
from hudkit.sections.shared import Shared as SharedState
from hudkit.sections.views.section import Line, Row, Section, View, listed

_SAID = {"task": "task", "constraint": "constraint", "decision": "decided", "report": "reports"}


def _lines(shared: SharedState) -> Iterator[Line]:
    for source in shared.sources:
        who = "the parent" if source.relation == "parent" else f"subagent {shorten(source.name, 40)}".rstrip()
        for piece in source.pieces:
            derived = " (derived)" if piece.derived else ""
            key = f"{source.session_id} {piece.kind} {piece.text}"
            yield Line(key, f"{who}, {_SAID[piece.kind]}: {piece.text}", label=derived)


@component
def Shared(shared: SharedState, view: View) -> Element | None:
    return listed("shared", "From other agents", _lines(shared), view, plan=True)


def rows(shared: SharedState) -> tuple[Row, ...]:
    return tuple(Row(line.key, line.words + line.label) for line in _lines(shared))


SECTION = Section("shared", "From other agents", "from another agent", ("shared",), Shared, rows)
