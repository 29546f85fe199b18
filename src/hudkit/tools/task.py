"""Operations on the current task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, TaskClear, TaskSet, TaskUpdate
from hudkit.log.secret_patterns import without_secrets
from hudkit.sections.items import ItemMark
from hudkit.sections.state import HudState
from hudkit.tools.answer_text import origin_tags, row_lines
from hudkit.tools.operation import (
    AnswerRow,
    EmptyArguments,
    OperationArguments,
    OperationResult,
    Text,
    operation,
    plain_values,
    reading,
    section_listing,
)
from hudkit.tools.record import record, stored_words
from hudkit.tools.replaced_item import refuse_request


class _Described(OperationArguments, frozen=True):
    description: Annotated[Text, Meta(description="What is being worked on.")]


@section_listing("task", "Task", also=("currentTask",), replaces="text", clears=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    task = state.task
    if not task:
        return ()
    return (
        AnswerRow(
            "task",
            task.description,
            origin_tags(ItemMark(origin=task.origin, taken_from=task.taken_from)),
            task,
            task.seq,
        ),
    )


@reading("task.get", EmptyArguments)
def _get(session: SessionCore, _: EmptyArguments) -> OperationResult:
    """Read the current task in full."""
    state = session.state
    if not state.task:
        return OperationResult("No task is set.", {"task": None})
    return OperationResult(row_lines(_rows(state)), {"task": plain_values(state.task)})


@operation("task.set", _Described, example={"description": "Implement the auth middleware"})
def _set(session: SessionCore, args: _Described, origin: Origin) -> OperationResult:
    """Set the current task; it replaces the one before."""
    return _set_description(session, args, origin, lambda _: TaskSet(args.description))


@operation("task.update", _Described, example={"description": "Implement the auth middleware, tests left"})
def _update(session: SessionCore, args: _Described, origin: Origin) -> OperationResult:
    """Describe the current task better. Where none is set, this sets it."""
    return _set_description(
        session,
        args,
        origin,
        lambda state: TaskUpdate(args.description) if state.task else TaskSet(args.description),
    )


@operation("task.clear", EmptyArguments, example={})
def _clear(session: SessionCore, _: EmptyArguments, origin: Origin) -> OperationResult:
    """Say that there is no task now."""
    change = record(session, origin, lambda _: (TaskClear(),))
    return OperationResult(
        "Cleared the task." if change else "No task was set.", {"id": "task", "recorded": bool(change)}
    )


def _set_description(
    session: SessionCore, args: _Described, origin: Origin, payload: Callable[[HudState], Payload]
) -> OperationResult:
    def decide(state: HudState) -> Sequence[Payload]:
        refuse_request(state, args.description)
        # The same words again are no event: they would begin no new age either.
        return () if state.task.description == without_secrets(args.description) else (payload(state),)

    change = record(session, origin, decide)
    if not change:
        return OperationResult("The task is so already.", {"id": "task", "recorded": False})
    verb = "Updated" if change.before.task else "Set"
    text = f"{verb} the task{stored_words(change, change.after.task.description)}."
    return OperationResult(text + change.note, {"id": "task", "recorded": True})
