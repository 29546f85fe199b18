"""The project's defaults as this session knows them: notes, key files and conventions."""

from __future__ import annotations

import msgspec

from hudkit.events.event import Event
from hudkit.events.payloads import ProjectSet


class Project(msgspec.Struct, frozen=True, omit_defaults=True):
    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.notes or self.files or self.conventions)


HANDLES = (ProjectSet,)


def reduce(project: Project, event: Event) -> Project:
    match event.payload:
        case ProjectSet(project=name, notes=notes, files=files, conventions=conventions):
            return Project(name or project.project, notes, files, conventions)
    return project
