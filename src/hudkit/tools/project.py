"""Operations on a project's defaults: notes, key files and conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, ProjectSet
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import list_rows
from hudkit.tools.operation import (
    SECTION_LISTINGS,
    AnswerRow,
    EmptyArguments,
    OperationArguments,
    OperationResult,
    Text,
    Texts,
    operation,
    plain_values,
    reading,
    section_listing,
)
from hudkit.tools.record import record

_KINDS = {"notes": "note", "files": "file", "conventions": "convention"}


class _Defaults(OperationArguments, frozen=True):
    notes: Annotated[Texts | None, Meta(description="Notes, whole; when not given they stay as they are.")] = None
    files: Annotated[Texts | None, Meta(description="Key files, whole; likewise.")] = None
    conventions: Annotated[Texts | None, Meta(description="Conventions, whole; likewise.")] = None


class _Default(OperationArguments, frozen=True):
    kind: Annotated[Literal["notes", "files", "conventions"], Meta(description="Which list to add to.")]
    text: Annotated[Text, Meta(description="The note, path or convention.")]


@section_listing("project", "Project defaults", ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    project = state.project
    return tuple(
        AnswerRow(label, text, ("set by an agent",) if text in project.agents else ())
        for kind, label in _KINDS.items()
        for text in getattr(project, kind)
    )


@reading("project.get", EmptyArguments)
def _get(session: SessionCore, _: EmptyArguments) -> OperationResult:
    """Read the project's defaults in full."""
    # Another session may have set them since this one's last call.
    state = session.prepare()
    return OperationResult(
        list_rows(SECTION_LISTINGS["project"], _rows(state)).text, {"project": plain_values(state.project)}
    )


@operation("project.set", _Defaults, example={"conventions": ["Tests sit beside the code"]})
def _set(session: SessionCore, args: _Defaults, origin: Origin) -> OperationResult:
    """Set the project's defaults; each list that is given replaces the one before.

    All sessions of the project have them from their next call on; without a project, they are this session's own.
    """

    def decide(state: HudState) -> Sequence[Payload]:
        new_lists = {kind: getattr(args, kind) for kind in _KINDS}
        merged = {
            kind: _unique(getattr(state.project, kind) if texts is None else texts)
            for kind, texts in new_lists.items()
        }
        return (_project_set(session, origin, state, merged),)

    # The project's log, not the session's: other sessions copy from it, and each can still be replayed alone.
    change = record(session.project_log or session, origin, decide)
    outcome = "Set the project's defaults" if change else "They are so already"
    return _defaults_answer(session.prepare(), outcome, bool(change), change.note)


@operation("project.add", _Default, example={"kind": "conventions", "text": "Tests sit beside the code"})
def _add(session: SessionCore, args: _Default, origin: Origin) -> OperationResult:
    """Add one note, key file or convention to the project's defaults."""

    def decide(state: HudState) -> Sequence[Payload]:
        lists = {kind: getattr(state.project, kind) for kind in _KINDS}
        lists[args.kind] = _unique((*lists[args.kind], without_secrets(args.text)))
        return (_project_set(session, origin, state, lists),)

    change = record(session.project_log or session, origin, decide)
    return _defaults_answer(session.prepare(), "Added" if change else "Already there", bool(change), change.note)


def _project_set(
    session: SessionCore, origin: Origin, state: HudState, lists: dict[str, tuple[str, ...]]
) -> ProjectSet:
    """The lists; what an agent puts into them for other sessions is marked so."""
    before = state.project
    earlier = {*before.notes, *before.files, *before.conventions}
    texts = [without_secrets(text) for kind in _KINDS for text in lists[kind]]
    # Other sessions will read it: they are to know that it was an agent's word, not the user's.
    marks = session.project_log is not None and origin is not Origin.USER
    agents = _unique([text for text in texts if text in before.agents or (marks and text not in earlier)])
    return ProjectSet(before.project, lists["notes"], lists["files"], lists["conventions"], agents)


def _unique(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _defaults_answer(state: HudState, outcome: str, recorded: bool, note: str) -> OperationResult:
    counts = ", ".join(f"{kind} {len(getattr(state.project, kind))}" for kind in _KINDS)
    data = {"id": "project", "recorded": recorded, "project": plain_values(state.project)}
    return OperationResult(f"{outcome}: {counts}.{note}", data)
