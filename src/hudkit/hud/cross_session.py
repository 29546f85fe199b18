"""What a session has from others: its project's defaults, what parents and subagents share, the offer to resume.

Each is a step before a frame: asked about the session's state, it gives the events by which what the others have is
copied where it has changed. Nothing is written in two places: each session writes to its own log only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from hudkit.compose import shorten
from hudkit.errors import StoreError
from hudkit.hud.session_keys import PROJECT_LOG, host_of_key, keys_with_id, name_among, project_of_key
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import Payload, ProjectSet, SessionOffer, SharedItem, ShareSync
from hudkit.sections.project import ProjectFileDefaults
from hudkit.sections.state import HudState

if TYPE_CHECKING:
    from hudkit.hud.session_core import SessionCore

MAX_LINKS = 20
"""Linked sessions that are looked at, the newest."""

MAX_PIECES = 20
"""Constraints, decisions and reports of one session that are shared, the newest of each."""

MAX_PIECE_CHARS = 400
"""Characters of one of them, and of the task that is offered."""

MAX_EARLIER_SESSIONS = 5
"""Earlier sessions of the project of which the last that worked is looked for."""

_INHERITED = ("notes", "files", "conventions", "agents")
"""What a session has of its project."""

StateOf = Callable[[str], HudState]
"""Gives the state of another session of the log, by its key. Raises a `StoreError`."""


class ProjectDefaults:
    """The step before a frame: what the session's project has now, where that is not what the session knows."""

    def __init__(self, own: SessionCore, file: Callable[[], ProjectFileDefaults | None] | None = None) -> None:
        """`own` is the project's log, `file` what its file gives; it never raises."""
        self._own = own
        self._file = file

    def __call__(self, state: HudState) -> Sequence[Payload]:
        """Return what has to be recorded; nothing where the session has it already."""
        from_file = self._file() if self._file else None
        try:
            project = self._own.state
        except StoreError:
            return ()  # what the session knows stands
        if project.seq == 0 and from_file is None and not state.project.inherited:
            return ()
        from_file, from_log = from_file or ProjectFileDefaults(), project.project
        defaults = ProjectSet(
            state.project.project,
            _without_repeats((*from_file.notes, *from_log.notes)),
            _without_repeats((*from_file.files, *from_log.files)),
            _without_repeats((*from_file.conventions, *from_log.conventions)),
            from_log.agents,
            inherited=True,
        )
        has_all = all(getattr(state.project, name) == getattr(defaults, name) for name in _INHERITED)
        return () if state.project.inherited and has_all else (defaults,)


def _without_repeats(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


class LinkedSessionSync:
    """The step before a frame that shares between a session and its subagents.

    A child has of its parent the task, the constraints and the live decisions; a parent has of a child its live
    decisions and its reports.
    """

    def __init__(self, key: str, log: EventLog, state_of: StateOf) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._keys: dict[str, str] = {}

    def __call__(self, state: HudState) -> Sequence[Payload]:
        """Return what has changed in the linked sessions since it was recorded last."""
        links = {
            link.session_id: link.relation for link in state.session.links if link.relation in ("parent", "child")
        }
        changed: list[Payload] = []
        for id, relation in list(links.items())[-MAX_LINKS:]:
            try:
                key = self._key_of(id)
                sync = None if key is None else _shared_with(self._state_of(key), id, relation)
            except StoreError:
                continue  # what was recorded stands
            source = state.shared.of(id)
            if sync is not None and sync.pieces != (source.pieces if source else ()):
                changed.append(sync)
        return changed

    def _key_of(self, id: str) -> str | None:
        if id not in self._keys:
            key = _related_key(self._log.sessions(), id, self._key)
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
        # What the parent has of its own parent holds for the child, too.
        above = [piece for source in other.shared.sources if source.relation == "parent" for piece in source.pieces]
        pieces += [piece for piece in above if piece.kind == "constraint"]
        for constraint in other.constraints[-MAX_PIECES:]:
            pieces.append(_piece("constraint", constraint.text, constraint.derived))
    else:
        pieces += [_piece("report", report.text) for report in other.shared.reports[-MAX_PIECES:]]
    for decision in other.decisions[-MAX_PIECES:]:
        pieces.append(_piece("decision", decision.summary, decision.derived))
    return ShareSync(id, "parent" if relation == "parent" else "child", name, tuple(dict.fromkeys(pieces)))


def _piece(kind: str, text: str, derived: bool = False) -> SharedItem:
    return SharedItem(kind, shorten(text, MAX_PIECE_CHARS), derived)  # type: ignore[arg-type]


class ResumeOffer:
    """The step before a session's first frame: an earlier one of its project has an open task, told once."""

    def __init__(self, key: str, log: EventLog, state_of: StateOf) -> None:
        self._key = key
        self._log = log
        self._state_of = state_of
        self._done = False

    def __call__(self, state: HudState) -> Sequence[Payload]:
        """Return the offer, at the first call of a session that has nothing to do yet."""
        if self._done:
            return ()
        self._done = True
        has_begun = state.epoch.last or state.task or state.session.links or state.session.offer
        if has_begun or not project_of_key(self._key):
            return ()
        try:
            return self._offer()
        except StoreError:
            return ()

    def _offer(self) -> Sequence[Payload]:
        own_project = project_of_key(self._key)
        keys = [key for key in self._log.sessions() if project_of_key(key) == own_project and key != self._key]
        own = {key for key in keys if not key.startswith(f"{PROJECT_LOG}@")}
        newest = [head.session_id for head in reversed(self._log.heads()) if head.session_id in own]
        states = ((key, self._state_of(key)) for key in newest[:MAX_EARLIER_SESSIONS])
        key, last = next(((key, state) for key, state in states if not _is_subagent(state)), ("", None))
        if last is None or not last.task:
            return ()
        task = shorten(last.task.description, MAX_PIECE_CHARS)
        return (SessionOffer(name_among(key, (*keys, self._key)), task, len(last.steps.open), last.time),)


def _is_subagent(state: HudState) -> bool:
    return any(link.relation == "parent" for link in state.session.links)


def _related_key(keys: Iterable[str], session_id: str, key: str) -> str | None:
    """Return the key, of these, of the session with this id that belongs to the one with `key`.

    It is of the same host, best of the same project; `None` where there is none, or several and none of the project.
    """
    host = host_of_key(key)
    alike = [other for other in keys_with_id(keys, session_id) if host_of_key(other) == host]
    near = [other for other in alike if project_of_key(other) == project_of_key(key)]
    chosen = near or alike
    return chosen[0] if len(chosen) == 1 else None
