"""Taking up the task of another session: what it had open becomes this one's, each item with where it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from hudkit.errors import OperationError, SequenceConflict, StoreError
from hudkit.hud import SessionCore
from hudkit.hud.cross_session import PROJECT_LOG
from hudkit.hud.session_core import APPEND_ATTEMPTS
from hudkit.hud.session_keys import host_session_id, project_of_key
from hudkit.log.event import Origin
from hudkit.log.payloads import (
    BlockerAdd,
    ConstraintAdd,
    DecisionRecord,
    NoteAdd,
    Payload,
    SessionLink,
    StepAdd,
    TaskSet,
)
from hudkit.sections.state import HudState
from hudkit.tools.lines import called, echo
from hudkit.tools.operation import Answer, Arguments, Text, operation

CANDIDATES = 5

_NOUNS = {
    "constraint.add": "constraint",
    "decision.record": "decision",
    "step.add": "open step",
    "blocker.add": "blocker",
    "note.add": "note",
}


class Resumed(Arguments, frozen=True):
    session: Annotated[Text, Meta(description="The session's id, as `sessions` lists it, or a begin of it.")]


class Taken(msgspec.Struct, frozen=True):
    """A payload, and whose word it was."""

    origin: Origin
    payload: Payload


@operation("task.resume", Resumed, example={"session": "ses_1"})
def resume(session: SessionCore, args: Resumed, _: Origin) -> Answer:
    """Take up the task of another session, of any host: its task, constraints, live decisions, open steps, blockers
    and notes become this session's, each marked with where it came from.

    What is here already is not added again; a task of this session is replaced. The other session stays as it is.
    """
    key = _meant(session, args.session.strip())
    other = session.other(key)
    id = host_session_id(key)
    for attempt in range(APPEND_ATTEMPTS):
        state = session.state
        if any(link.relation == "resume" and link.session_id == id for link in state.session.links):
            raise OperationError(f"the task of {called(id)} is taken up already", hint="`history` shows what came.")
        taken = list(_taken(other, state, id))
        if not taken:
            raise OperationError(
                f"{called(id)} has nothing to take up", hint="`sessions` marks those with open tasks."
            )
        link = Taken(Origin.SYSTEM, SessionLink("resume", id, other.seq))
        drafts = [
            draft
            for one in (link, *taken)
            for draft in session.drafts((one.payload,), one.origin, state.window.calls)
        ]
        try:
            session.log.append(session.id, drafts, expected=state.seq)
            break
        except SequenceConflict:
            if attempt == APPEND_ATTEMPTS - 1:
                raise
    return _told(session, id, state, taken)


def open_tasks(session: SessionCore) -> Callable[[str], str]:
    """From a host's id of a session to its task, where our log knows one; empty where it does not."""
    try:
        known = session.log.sessions()
        keys = {host_session_id(key): key for key in known} | {key: key for key in known}
    except StoreError:
        keys = {}

    def task(id: str) -> str:
        try:
            return session.other(keys[id]).task.description if id in keys else ""
        except StoreError:
            return ""

    return task


def _taken(other: HudState, state: HudState, id: str) -> Iterator[Taken]:
    task = other.task
    if task and task.description != state.task.description:
        yield Taken(task.origin, TaskSet(task.description, taken=id))
    for rule in other.constraints:
        if state.constraints.find(rule.text) is None:
            yield Taken(rule.mark.origin, ConstraintAdd(rule.text, "", rule.derived, rule.source, id))
    for one in other.decisions:
        if state.decisions.find(one.summary) is None:
            yield Taken(one.mark.origin, DecisionRecord(one.summary, one.details, "", one.derived, (), id))
    for step in other.steps.open:
        if state.steps.find(step.description) is None:
            yield Taken(step.mark.origin, StepAdd(step.description, "", id))
    for blocker in other.blockers:
        if state.blockers.find(blocker.description) is None:
            yield Taken(blocker.mark.origin, BlockerAdd(blocker.description, "", id))
    for note in other.notes:
        if state.notes.find(note.content) is None:
            yield Taken(note.mark.origin, NoteAdd(note.content, "", id))


def _meant(session: SessionCore, asked: str) -> str:
    """The key of the session that is asked for. Raises `OperationError` where it is this one, none, or several."""
    known = [key for key in session.log.sessions() if not key.startswith(f"{PROJECT_LOG}@")]
    if asked in (session.id, host_session_id(session.id)):
        raise OperationError("a session cannot take up its own task", hint=_hint(session, known))
    exact = [key for key in known if key == asked or host_session_id(key) == asked]
    alike = [key for key in exact or known if key != session.id and (exact or host_session_id(key).startswith(asked))]
    near = [key for key in alike if project_of_key(key) == project_of_key(session.id)]
    chosen = near if len(near) == 1 else alike
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise OperationError(f"there is no recorded session {echo(asked, 60)}", hint=_hint(session, known))
    some = ", ".join(echo(key, 120) for key in chosen[:CANDIDATES])
    raise OperationError(f"{echo(asked, 60)} names {len(chosen)} sessions", hint=f"Among them {some}.")


def _hint(session: SessionCore, known: list[str]) -> str:
    near = [key for key in known if project_of_key(key) == project_of_key(session.id) and key != session.id]
    tasks = open_tasks(session)
    ids = [host_session_id(key) for key in reversed(near[-20:]) if tasks(host_session_id(key))]
    if not ids:
        return "`sessions` lists the ids."
    return f"Open tasks are in {', '.join(map(called, ids[:CANDIDATES]))}."


def _told(session: SessionCore, id: str, before: HudState, taken: list[Taken]) -> Answer:
    kinds = [msgspec.to_builtins(one.payload)["type"] for one in taken]
    counts = {kind: kinds.count(kind) for kind in _NOUNS if kind in kinds}
    words = [f"{count} {_NOUNS[kind]}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    task = session.state.task
    said = f"Took up from {called(id)}: "
    said += "; ".join(([f"the task {echo(task.description)}"] if "task.set" in kinds else []) + words)
    if "task.set" in kinds and before.task:
        said += f". The task before was {echo(before.task.description)}"
    data = {"session": id, "recorded": True, "task": task.description, "taken": dict(counts)}
    return Answer(f"{said}.", data)
