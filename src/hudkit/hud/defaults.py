"""A project's defaults: kept in a log of the project's own, and copied into each of its sessions before a frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hudkit.errors import StoreError
from hudkit.log.payloads import Payload, ProjectSet
from hudkit.sections.project import ProjectFileDefaults
from hudkit.sections.state import HudState

if TYPE_CHECKING:
    from hudkit.hud.session import Session

PROJECT_LOG = "hudkit/project"
"""Before the `@`, the key of a project's own log."""


class Defaults:
    """The step before a frame: what the session's project has now, where that is not what the session knows."""

    def __init__(self, own: Session, file: Callable[[], ProjectFileDefaults | None] | None = None) -> None:
        """`own` is the project's log, `file` what its file gives; it never raises."""
        self._own = own
        self._file = file

    def __call__(self, state: HudState) -> Sequence[Payload]:
        given = self._file() if self._file else None
        try:
            own = self._own.state
        except StoreError:
            return ()  # what the session knows stands
        if own.seq == 0 and given is None and not state.project.inherited:
            return ()
        given, kept = given or ProjectFileDefaults(), own.project
        told = ProjectSet(
            state.project.project,
            _once((*given.notes, *kept.notes)),
            _once((*given.files, *kept.files)),
            _once((*given.conventions, *kept.conventions)),
            kept.agents,
            inherited=True,
        )
        known = state.project
        same = known.inherited and all(
            getattr(known, name) == getattr(told, name) for name in ("notes", "files", "conventions", "agents")
        )
        return () if same else (told,)


def _once(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
