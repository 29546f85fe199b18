"""Decisions that stand."""

from __future__ import annotations

from hudkit.compose import Element, component
from hudkit.sections.decisions import Decisions as DecisionsState
from hudkit.sections.views.section import Line, Row, Section, View, label, listed


@component
def Decisions(decisions: DecisionsState, view: View) -> Element | None:
    lines = (Line(d.id, d.summary, label=label(d.mark.origin, d.derived)) for d in decisions)
    return listed("decisions", "Decisions", lines, view)


def rows(decisions: DecisionsState) -> tuple[Row, ...]:
    return tuple(Row(d.id, d.summary + label(d.mark.origin, d.derived)) for d in decisions)


SECTION = Section("decisions", "Decisions", "decision", ("decisions",), Decisions, rows, closing="withdrawn")
