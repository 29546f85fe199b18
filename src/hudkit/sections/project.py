"""The project's defaults as this session knows them: conventions, notes and key files."""

from __future__ import annotations

import msgspec

from hudkit.compose import Element
from hudkit.log.event import Event
from hudkit.log.payloads import ProjectSet
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView, ShownItem, item_list


class ProjectFileDefaults(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a project's file gives all its sessions, where the user trusts it: three lists of texts."""

    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()


class ProjectState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The defaults; falsy where there are none. `agents` are the texts that an agent of another session set, and
    `inherited` says that they came from the project, not from this session."""

    project: str = ""
    notes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    inherited: bool = False

    def __bool__(self) -> bool:
        return bool(self.notes or self.files or self.conventions)


def _reduce(project: ProjectState, event: Event) -> ProjectState:
    match event.payload:
        case ProjectSet() as new:
            name = new.project or project.project
            return ProjectState(name, new.notes, new.files, new.conventions, new.agents, new.inherited)
    return project


def _shown(project: ProjectState) -> tuple[ShownItem, ...]:
    kinds = (
        ("convention", "", project.conventions),
        ("note", "", project.notes),
        ("file", "key file: ", project.files),
    )
    return tuple(
        ShownItem(f"{kind} {text}", f"{lead}{text}", label=" (set by an agent)" if text in project.agents else "")
        for kind, lead, texts in kinds
        for text in texts
    )


def _show(project: ProjectState, view: SectionView) -> Element | None:
    return item_list(_shown(project), view, see="project.get")


def _rows(project: ProjectState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.key, item.text) for item in _shown(project))


LOGIC = SectionLogic(handles=(ProjectSet,), reduce=_reduce, show=_show, rows=_rows)
