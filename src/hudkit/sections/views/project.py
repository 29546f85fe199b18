"""The project's defaults: conventions, notes and key files."""

from __future__ import annotations

from hudkit.compose import Element, component
from hudkit.sections.project import Project as ProjectState
from hudkit.sections.views.section import Line, Row, Section, View, listed


def _lines(project: ProjectState) -> tuple[Line, ...]:
    kinds = (
        ("convention", "", project.conventions),
        ("note", "", project.notes),
        ("file", "key file: ", project.files),
    )
    return tuple(
        Line(f"{kind} {text}", f"{lead}{text}", label=" (set by an agent)" if text in project.agents else "")
        for kind, lead, texts in kinds
        for text in texts
    )


@component
def Project(project: ProjectState, view: View) -> Element | None:
    return listed("project", "Project", _lines(project), view, see="project.get")


def rows(project: ProjectState) -> tuple[Row, ...]:
    return tuple(Row(line.key, line.words) for line in _lines(project))


SECTION = Section("project", "Project", "project", ("project",), Project, rows)
