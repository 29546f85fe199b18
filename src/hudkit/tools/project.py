"""Operations on a project's defaults: notes, key files and conventions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, ProjectSet
from hudkit.sections.state import HudState
from hudkit.tools.lines import listing, stored
from hudkit.tools.operation import SHOWN, Answer, Arguments, Row, Text, Texts, operation, plain, reading, section
from hudkit.tools.record import record
from hudkit.tools.task import Nothing

_KINDS = {"notes": "note", "files": "file", "conventions": "convention"}


class Defaults(Arguments, frozen=True):
    notes: Annotated[Texts | None, Meta(description="Notes, whole; when not given they stay as they are.")] = None
    files: Annotated[Texts | None, Meta(description="Key files, whole; likewise.")] = None
    conventions: Annotated[Texts | None, Meta(description="Conventions, whole; likewise.")] = None


class Default(Arguments, frozen=True):
    kind: Annotated[Literal["notes", "files", "conventions"], Meta(description="Which list to add to.")]
    text: Annotated[Text, Meta(description="The note, path or convention.")]


@section("project", "Project defaults", ordered=True)
def rows(state: HudState) -> tuple[Row, ...]:
    project = state.project
    return tuple(
        Row(label, text, ("set by an agent",) if text in project.agents else ())
        for kind, label in _KINDS.items()
        for text in getattr(project, kind)
    )


@reading("project.get", Nothing)
def get(session: SessionCore, _: Nothing) -> Answer:
    """Read the project's defaults in full."""
    state = session.prepared()
    return Answer(listing(SHOWN["project"], rows(state)).text, {"project": plain(state.project)})


@operation("project.set", Defaults, example={"conventions": ["Tests sit beside the code"]})
def set_(session: SessionCore, args: Defaults, origin: Origin) -> Answer:
    """Set the project's defaults; each list that is given replaces the one before.

    All sessions of the project have them from their next call on; without a project, they are this session's own.
    """

    def decide(state: HudState) -> Sequence[Payload]:
        given = {kind: getattr(args, kind) for kind in _KINDS}
        kept = {kind: _once(getattr(state.project, kind) if it is None else it) for kind, it in given.items()}
        return (_told_by(session, origin, state, kept),)

    change = record(session.project_log or session, origin, decide)
    said = "Set the project's defaults" if change else "They are so already"
    return _told(session.prepared(), said, bool(change), change.note)


@operation("project.add", Default, example={"kind": "conventions", "text": "Tests sit beside the code"})
def add(session: SessionCore, args: Default, origin: Origin) -> Answer:
    """Add one note, key file or convention to the project's defaults."""

    def decide(state: HudState) -> Sequence[Payload]:
        lists = {kind: getattr(state.project, kind) for kind in _KINDS}
        lists[args.kind] = _once((*lists[args.kind], stored(args.text)))
        return (_told_by(session, origin, state, lists),)

    change = record(session.project_log or session, origin, decide)
    return _told(session.prepared(), "Added" if change else "Already there", bool(change), change.note)


def _told_by(session: SessionCore, origin: Origin, state: HudState, lists: dict[str, tuple[str, ...]]) -> ProjectSet:
    """The lists; what an agent puts into them for other sessions is marked so."""
    before = state.project
    known = {*before.notes, *before.files, *before.conventions}
    texts = [stored(text) for kind in _KINDS for text in lists[kind]]
    marks = session.project_log is not None and origin is not Origin.USER
    agents = _once([text for text in texts if text in before.agents or (marks and text not in known)])
    return ProjectSet(before.project, lists["notes"], lists["files"], lists["conventions"], agents)


def _once(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _told(state: HudState, said: str, recorded: bool, note: str) -> Answer:
    counts = ", ".join(f"{kind} {len(getattr(state.project, kind))}" for kind in _KINDS)
    data = {"id": "project", "recorded": recorded, "project": plain(state.project)}
    return Answer(f"{said}: {counts}.{note}", data)
