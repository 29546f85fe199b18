"""Constraints: the rules that hold."""

from __future__ import annotations

from hudkit.components.section import Line, Row, Section, View, label, listed
from hudkit.document import Element, component
from hudkit.projections.constraints import Constraints as ConstraintsState


@component
def Constraints(constraints: ConstraintsState, view: View) -> Element | None:
    lines = (Line(c.id, c.text, label=label(c.mark.origin, c.derived)) for c in constraints)
    return listed("constraints", "Constraints", lines, view)


def rows(constraints: ConstraintsState) -> tuple[Row, ...]:
    return tuple(Row(c.id, c.text + label(c.mark.origin, c.derived)) for c in constraints)


SECTION = Section("constraints", "Constraints", "constraint", ("constraints",), Constraints, rows)
