"""The project's defaults as this session knows them: conventions, notes and key files."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import ProjectSet
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem

_CONVENTION_PRIORITY = 91
"""The priority of the user's conventions: behind the session's rules, before all else."""


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
    shown = []
    for kind, lead, texts in kinds:
        for text in texts:
            by_agent = text in project.agents
            # What the user wants in all sessions of the project is a preference, which goes with the rules.
            priority = _CONVENTION_PRIORITY if kind == "convention" and not by_agent else None
            label = " (set by an agent)" if by_agent else ""
            is_code = kind == "file"
            shown.append(
                ShownItem(
                    f"{kind} {text}", f"{lead}{text}", label=label, priority=priority, lead=lead, is_code=is_code
                )
            )
    return tuple(shown)


def _rows(project: ProjectState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.key, item.text) for item in _shown(project))


LOGIC = SectionLogic(handles=(ProjectSet,), reduce=_reduce, items=_shown, rows=_rows)
