"""Next steps, in their order; done ones are struck and leave the view first."""

from __future__ import annotations

from hudkit.compose import Density, Element, component, h
from hudkit.sections.steps import Steps as StepsState
from hudkit.sections.views.section import PRIORITIES, Line, Row, Section, View, listed


@component
def Steps(steps: StepsState, view: View) -> Element | None:
    if view.density is Density.MINIMAL:
        current = next(iter(steps.open), None)
        if current is None:
            return None
        return h.text(key="steps", priority=PRIORITIES["steps"])["Step: ", view.cut(current.description)]
    lines = (Line(s.id, s.description, s.completed) for s in steps)
    return listed("steps", "Next Steps", lines, view, plan=True, ordered=True)


def rows(steps: StepsState) -> tuple[Row, ...]:
    return tuple(Row(s.id, s.description, s.completed) for s in steps)


SECTION = Section("steps", "Next Steps", "step", ("steps",), Steps, rows, closing="dropped", ordered=True)
