"""Handing a task on: a person says in a project that its next session, of whatever host, takes up that of another.

What the person says is an offer in the project's own log. The next session that begins there takes it up before its
first frame, as if the person had called `task.resume` in it, and takes the offer off the log, so that one session has
it and not two.
"""

from __future__ import annotations

from contextlib import suppress

from hudkit.errors import HudkitError
from hudkit.hud import SessionCore
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key, keys_with_id, name_among, project_of_key
from hudkit.log.event import Origin
from hudkit.log.payloads import SessionOffer
from hudkit.sections.state import HudState
from hudkit.tools.resume_task import task_to_take
from hudkit.tools.routers import call

_MAX_SESSIONS = 200
"""Sessions of a project, the newest, among which open tasks are looked for."""

_NO_OFFER = SessionOffer("", "")


def hand_on(project: SessionCore, key: str, state: HudState) -> SessionOffer:
    """Record that the next session of a project takes up the task of the session `key`; return what was recorded.

    What was handed on before is not any more. Raises a `StoreError`.
    """
    name = name_among(key, project.log.sessions())
    offer = SessionOffer(name, task_to_take(state)[0], len(state.steps.open), state.time)
    project.append(offer, origin=Origin.USER)
    return offer


def handed_on(project: SessionCore) -> SessionOffer | None:
    """Return what the next session of a project takes up; `None` where nothing is handed on."""
    return project.state.session.offer


def take_back(project: SessionCore) -> SessionOffer | None:
    """Record that nothing is handed on; return what was. Raises a `StoreError`."""
    offer = handed_on(project)
    if offer is not None:
        project.append(_NO_OFFER, origin=Origin.USER)
    return offer


def take_up(session: SessionCore, project: SessionCore) -> bool:
    """Take up what is handed on in a session that begins, and return whether there was something.

    Raises a `HudkitError` where it cannot be taken up; then it stays handed on.
    """
    state = project.state
    offer = state.session.offer
    if offer is None or _is_own(session, offer.session_id):
        return False
    # Taken off first: of two sessions that begin at once, one is refused here.
    project.append(_NO_OFFER, origin=Origin.SYSTEM, expected=state.seq)
    try:
        call(session, "task.resume", {"session": offer.session_id}, origin=Origin.USER)
    except HudkitError:
        with suppress(HudkitError):
            project.append(offer, origin=Origin.USER)
        raise
    return True


def _is_own(session: SessionCore, name: str) -> bool:
    """Whether what was handed on is this session's own task; a session of another host may have the same id."""
    others = (key for key in keys_with_id(session.log.sessions(), name) if key != session.id)
    return name in (session.id, host_id_of_key(session.id)) and next(others, None) is None


def open_tasks_of(project: SessionCore) -> tuple[tuple[str, HudState], ...]:
    """Return the sessions of a project that have an open task, with their states, the one that worked last first."""
    own = project_of_key(project.id)
    newest = [head.session_id for head in reversed(project.log.heads()) if project_of_key(head.session_id) == own]
    keys = [key for key in newest[:_MAX_SESSIONS] if not key.startswith(f"{PROJECT_LOG}@")]
    states = ((key, project.other(key)) for key in keys)
    return tuple((key, state) for key, state in states if task_to_take(state)[0] and not _is_subagent(state))


def _is_subagent(state: HudState) -> bool:
    return any(link.relation == "parent" for link in state.session.links)
