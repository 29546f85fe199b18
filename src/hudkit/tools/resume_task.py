"""Taking up the task of another session: what it had open becomes this one's, each item with where it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from hudkit.errors import OperationError, SequenceConflict, StoreError
from hudkit.hud import SessionCore
from hudkit.hud.session_core import APPEND_ATTEMPTS
from hudkit.hud.session_keys import PROJECT_LOG, host_id_of_key, project_of_key
from hudkit.log.event import Origin
from hudkit.log.payloads import (
    BlockerAdd,
    ConstraintAdd,
    DecisionRecord,
    NoteAdd,
    Payload,
    PreferenceAdd,
    SessionLink,
    StepAdd,
    TaskSet,
)
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import copied_id, id_text, quote
from hudkit.tools.operation import OperationArguments, OperationResult, Text, operation

_MAX_CANDIDATES = 5

_NOUNS = {
    "constraint.add": "constraint",
    "preference.add": "preference",
    "decision.record": "decision",
    "step.add": "open step",
    "blocker.add": "blocker",
    "note.add": "note",
}


class _ResumeArguments(OperationArguments, frozen=True):
    session: Annotated[Text, Meta(description="The session's id, as `sessions` lists it, or the beginning of it.")]


class _TakenPayload(msgspec.Struct, frozen=True):
    """A payload, and whose word it was."""

    origin: Origin
    payload: Payload


@operation("task.resume", _ResumeArguments, example={"session": "ses_1"})
def _resume(session: SessionCore, args: _ResumeArguments, _: Origin) -> OperationResult:
    """Take up the task of another session, of any host: its task, constraints, preferences, live decisions, open
    steps, blockers and notes become this session's, each marked with where it came from.

    What is here already is not added again; a task of this session is replaced. The other session stays as it is.
    """
    key = _resolve_key(session, copied_id(args.session))
    other = session.other(key)
    id = host_id_of_key(key)
    # Another writer may come between: then what is here already is looked at afresh.
    for attempt in range(APPEND_ATTEMPTS):
        state = session.state
        if any(link.relation == "resume" and link.session_id == id for link in state.session.links):
            raise OperationError(f"the task of {id_text(id)} is taken up already", hint="`history` shows what came.")
        taken = list(_payloads_to_take(other, state, id))
        if not taken:
            raise OperationError(
                f"{id_text(id)} has nothing to take up", hint="`sessions` marks those with open tasks."
            )
        # The link is in the same append: a session is either not taken up, or wholly and with its origin.
        link = _TakenPayload(Origin.SYSTEM, SessionLink("resume", id, other.seq))
        drafts = [
            draft
            for each in (link, *taken)
            for draft in session.drafts((each.payload,), each.origin, state.window.calls)
        ]
        try:
            session.log.append(session.id, drafts, expected=state.seq)
            break
        except SequenceConflict:
            if attempt == APPEND_ATTEMPTS - 1:
                raise
    return _resume_answer(session, id, state, taken)


def open_tasks(session: SessionCore) -> Callable[[str], str]:
    """Return a function from a host's id of a session to its task; empty where our log knows none."""
    state_of = recorded_states(session)

    def task(id: str) -> str:
        state = state_of(id)
        return state.task.description if state is not None else ""

    return task


def recorded_states(session: SessionCore) -> Callable[[str], HudState | None]:
    """Return a function from a host's id of a session to its state; `None` where our log has none."""
    try:
        recorded = session.log.sessions()
        keys = {host_id_of_key(key): key for key in recorded} | {key: key for key in recorded}
    except StoreError:
        keys = {}

    def state_of(id: str) -> HudState | None:
        try:
            return session.other(keys[id]) if id in keys else None
        except StoreError:
            return None

    return state_of


def task_to_take(other: HudState) -> tuple[str, Origin]:
    """Return the task of a session and whose word it is; where nobody set one, what was asked for first stands in."""
    if other.task:
        return other.task.description, other.task.origin
    return other.session.first_request, Origin.USER


def _payloads_to_take(other: HudState, state: HudState, id: str) -> Iterator[_TakenPayload]:
    description, origin = task_to_take(other)
    if description and description != state.task.description:
        yield _TakenPayload(origin, TaskSet(description, taken_from=id))
    for rule in other.constraints:
        if state.constraints.find(rule.text) is None:
            yield _TakenPayload(rule.mark.origin, ConstraintAdd(rule.text, "", rule.derived, rule.source, id))
    for preference in other.preferences:
        if state.preferences.find(preference.text) is None:
            taken = PreferenceAdd(preference.text, "", preference.derived, id)
            yield _TakenPayload(preference.mark.origin, taken)
    for decision in other.decisions:
        if state.decisions.find(decision.summary) is None:
            yield _TakenPayload(
                decision.mark.origin, DecisionRecord(decision.summary, decision.details, "", decision.derived, (), id)
            )
    for step in other.steps.open:
        if state.steps.find(step.description) is None:
            yield _TakenPayload(step.mark.origin, StepAdd(step.description, "", id))
    for blocker in other.blockers:
        if state.blockers.find(blocker.description) is None:
            yield _TakenPayload(blocker.mark.origin, BlockerAdd(blocker.description, "", id))
    for note in other.notes:
        if state.notes.find(note.content) is None:
            yield _TakenPayload(note.mark.origin, NoteAdd(note.content, "", id, note.derived))


def _resolve_key(session: SessionCore, asked: str) -> str:
    """The key of the session that is asked for. Raises `OperationError` where it is this one, none, or several."""
    # A project's defaults are a log of their own, but no conversation that has a task.
    keys = [key for key in session.log.sessions() if not key.startswith(f"{PROJECT_LOG}@")]
    exact = [key for key in keys if key == asked or host_id_of_key(key) == asked]
    # A session of another host may have this one's id.
    if asked == session.id or (asked == host_id_of_key(session.id) and exact in ([], [session.id])):
        raise OperationError("a session cannot take up its own task", hint=_hint(session, keys))
    alike = [key for key in exact or keys if key != session.id and (exact or host_id_of_key(key).startswith(asked))]
    # An id may be known in several projects: the own one is meant.
    near = [key for key in alike if project_of_key(key) == project_of_key(session.id)]
    chosen = near if len(near) == 1 else alike
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise OperationError(f"there is no recorded session {quote(asked, 60)}", hint=_hint(session, keys))
    some = ", ".join(quote(key, 120) for key in chosen[:_MAX_CANDIDATES])
    raise OperationError(f"{quote(asked, 60)} names {len(chosen)} sessions", hint=f"Among them {some}.")


def _hint(session: SessionCore, keys: list[str]) -> str:
    near = [key for key in keys if project_of_key(key) == project_of_key(session.id) and key != session.id]
    tasks = open_tasks(session)
    ids = [host_id_of_key(key) for key in reversed(near[-20:]) if tasks(host_id_of_key(key))]
    if not ids:
        return "`sessions` lists the ids."
    return f"Open tasks are in {', '.join(map(id_text, ids[:_MAX_CANDIDATES]))}."


def _resume_answer(session: SessionCore, id: str, before: HudState, taken: list[_TakenPayload]) -> OperationResult:
    kinds = [msgspec.to_builtins(each.payload)["type"] for each in taken]
    counts = {kind: kinds.count(kind) for kind in _NOUNS if kind in kinds}
    words = [f"{count} {_NOUNS[kind]}{'s' if count > 1 else ''}" for kind, count in counts.items()]
    task = session.state.task
    text = f"Took up from {id_text(id)}: "
    text += "; ".join(([f"the task {quote(task.description)}"] if "task.set" in kinds else []) + words)
    if "task.set" in kinds and before.task:
        text += f". The task before was {quote(before.task.description)}"
    data = {"session": id, "recorded": True, "task": task.description, "taken": dict(counts)}
    return OperationResult(f"{text}.", data)
