"""Blockers: shown at every density."""

from __future__ import annotations

from hudkit.compose import Element, component
from hudkit.sections.blockers import Blockers as BlockersState
from hudkit.sections.views.section import Line, Row, Section, View, label, listed


@component
def Blockers(blockers: BlockersState, view: View) -> Element | None:
    lines = (Line(b.id, b.description, label=label(b.mark.origin)) for b in blockers)
    return listed("blockers", "⚠ Blockers", lines, view)


def rows(blockers: BlockersState) -> tuple[Row, ...]:
    return tuple(Row(b.id, b.description + label(b.mark.origin)) for b in blockers)


SECTION = Section("blockers", "⚠ Blockers", "blocker", ("blockers",), Blockers, rows, closing="gone")
