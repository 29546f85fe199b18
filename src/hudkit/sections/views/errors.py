"""Errors that are open: what failed last and is not known to work again."""

from __future__ import annotations

from hudkit.compose import Element, component, shorten
from hudkit.sections.errors import Errors as ErrorsState
from hudkit.sections.errors import Failure
from hudkit.sections.views.section import Line, Row, Section, View, label, listed


def _label(error: Failure) -> str:
    return (f" (×{error.times})" if error.times > 1 else "") + label(error.mark.origin)


@component
def Errors(errors: ErrorsState, view: View) -> Element | None:
    return listed("errors", "Open Errors", (Line(e.id, e.message, label=_label(e)) for e in errors.open), view)


def rows(errors: ErrorsState) -> tuple[Row, ...]:
    return tuple(Row(e.id, shorten(e.message, 120) + label(e.mark.origin)) for e in errors.open)


SECTION = Section("errors", "Open Errors", "error", ("errors",), Errors, rows, pace="turn", closing="resolved")
