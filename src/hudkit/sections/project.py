"""The project's defaults as this session knows them: notes, key files and conventions."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import ProjectSet


class Project(msgspec.Struct, frozen=True, omit_defaults=True):
    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    inherited: bool = False

    def __bool__(self) -> bool:
        return bool(self.notes or self.files or self.conventions)


HANDLES = (ProjectSet,)


def reduce(project: Project, event: Event) -> Project:
    match event.payload:
        case ProjectSet() as told:
            name = told.project or project.project
            return Project(name, told.notes, told.files, told.conventions, told.agents, told.inherited)
    return project
