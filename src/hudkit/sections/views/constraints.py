"""Constraints: the rules that hold."""

from __future__ import annotations

from hudkit.compose import Element, component
from hudkit.sections.constraints import Constraints as ConstraintsState
from hudkit.sections.views.section import Line, Row, Section, View, label, listed


@component
def Constraints(constraints: ConstraintsState, view: View) -> Element | None:
    lines = (Line(c.id, c.text, label=label(c.mark.origin, c.derived)) for c in constraints)
    return listed("constraints", "Constraints", lines, view)


def rows(constraints: ConstraintsState) -> tuple[Row, ...]:
    return tuple(Row(c.id, c.text + label(c.mark.origin, c.derived)) for c in constraints)


SECTION = Section("constraints", "Constraints", "constraint", ("constraints",), Constraints, rows)
