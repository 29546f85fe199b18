"""A project's defaults: kept in a log of the project's own, and copied into each of its sessions before a frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hudkit.compose import shorten
from hudkit.errors import StoreError
from hudkit.hud.session_keys import own_name, project_of_key, related_key
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import Payload, ProjectSet, SessionOffer, SharedItem, ShareSync
from hudkit.sections.project import ProjectFileDefaults
from hudkit.sections.state import HudState

if TYPE_CHECKING:
    from hudkit.hud.session_core import SessionCore


PROJECT_LOG = "hudkit/project"
"""Before the `@`, the key of a project's own log."""


class ProjectDefaults:
    """The step before a frame: what the session's project has now, where that is not what the session knows."""

    def __init__(self, own: SessionCore, file: Callable[[], ProjectFileDefaults | None] | None = None) -> None:
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


# -- A session and its subagents: what each shares with the other, copied as an event before a frame where it changed.


MAX_LINKS = 20
"""Linked sessions that are looked at, the newest."""

MAX_PIECES = 20
"""Constraints, decisions and reports of one session that are shared, the newest of each."""

MAX_PIECE_CHARS = 400
"""Characters of one of them."""


class LinkedSessionSync:
    """The step before a frame for the session with `key`; `state_of` gives the state of another one by its key."""

    def __init__(self, key: str, log: EventLog, state_of: Callable[[str], HudState]) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._keys: dict[str, str] = {}

    def __call__(self, state: HudState) -> Sequence[Payload]:
        links = {
            link.session_id: link.relation for link in state.session.links if link.relation in ("parent", "child")
        }
        made: list[Payload] = []
        for id, relation in list(links.items())[-MAX_LINKS:]:
            try:
                key = self._found(id)
                told = None if key is None else _shared_with(self._state_of(key), id, relation)
            except StoreError:
                continue  # what was told stands
            known = state.shared.of(id)
            if told is not None and told.pieces != (known.pieces if known else ()):
                made.append(told)
        return made

    def _found(self, id: str) -> str | None:
        if id not in self._keys:
            key = related_key(self._log.sessions(), id, self._key)
            if key is None or key == self._key:
                return None
            self._keys[id] = key
        return self._keys[id]


def _shared_with(other: HudState, id: str, relation: str) -> ShareSync:
    """What a session shares with one to which it is the `parent` or a `child`."""
    name = other.session.agent or other.session.title
    pieces: list[SharedItem] = []
    if relation == "parent":
        if other.task:
            pieces.append(_piece("task", other.task.description))
        above = [one for source in other.shared.sources if source.relation == "parent" for one in source.pieces]
        pieces += [one for one in above if one.kind == "constraint"]
        pieces += [_piece("constraint", one.text, one.derived) for one in other.constraints[-MAX_PIECES:]]
    else:
        pieces += [_piece("report", one.text) for one in other.shared.reports[-MAX_PIECES:]]
    pieces += [_piece("decision", one.summary, one.derived) for one in other.decisions[-MAX_PIECES:]]
    return ShareSync(id, "parent" if relation == "parent" else "child", name, tuple(dict.fromkeys(pieces)))


def _piece(kind: str, text: str, derived: bool = False) -> SharedItem:
    return SharedItem(kind, shorten(text, MAX_PIECE_CHARS), derived)  # type: ignore[arg-type]


# -- The greeting of a new session: an earlier one of its project has an open task, and how to take it up: told once.


MAX_EARLIER_SESSIONS = 5
"""Earlier sessions of the project of which the last that worked is looked for."""


class ResumeOffer:
    """The step before a session's first frame."""

    def __init__(self, key: str, log: EventLog, state_of: Callable[[str], HudState]) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._done = False

    def __call__(self, state: HudState) -> Sequence[Payload]:
        if self._done:
            return ()
        self._done = True
        if (
            state.epoch.last
            or state.task
            or state.session.links
            or state.session.offer
            or not project_of_key(self._key)
        ):
            return ()
        try:
            return self._offers()
        except StoreError:
            return ()

    def _offers(self) -> Sequence[Payload]:
        project = project_of_key(self._key)
        keys = [
            key
            for key in self._log.sessions()
            if project_of_key(key) == project and key != self._key and not key.startswith(f"{PROJECT_LOG}@")
        ]
        own = [(key, self._state_of(key)) for key in keys[-MAX_EARLIER_SESSIONS:]]
        told = [(key, one) for key, one in own if not any(link.relation == "parent" for link in one.session.links)]
        if not told:
            return ()
        key, last = max(told, key=lambda pair: pair[1].time)
        if not last.task:
            return ()
        return (SessionOffer(own_name(key), shorten(last.task.description, 400), len(last.steps.open), last.time),)
