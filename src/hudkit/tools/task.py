"""Operations on the current task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, TaskClear, TaskSet, TaskUpdate
from hudkit.sections.items import ItemMark
from hudkit.sections.state import HudState
from hudkit.tools.lines import echo, lines, stored, told_by
from hudkit.tools.operation import Answer, Arguments, Row, Text, operation, plain, reading, section
from hudkit.tools.record import record


class Nothing(Arguments, frozen=True):
    pass


class Described(Arguments, frozen=True):
    description: Annotated[Text, Meta(description="What is being worked on.")]


@section("task", "Task", also=("currentTask",), replaces="text", clears=True)
def rows(state: HudState) -> tuple[Row, ...]:
    task = state.task
    if not task:
        return ()
    return (
        Row(
            "task",
            task.description,
            told_by(ItemMark(origin=task.origin, taken_from=task.taken_from)),
            task,
            task.seq,
        ),
    )


@reading("task.get", Nothing)
def get(session: SessionCore, _: Nothing) -> Answer:
    """Read the current task in full."""
    state = session.state
    if not state.task:
        return Answer("No task is set.", {"task": None})
    return Answer(lines(rows(state)), {"task": plain(state.task)})


@operation("task.set", Described, example={"description": "Implement the auth middleware"})
def set_(session: SessionCore, args: Described, origin: Origin) -> Answer:
    """Set the current task; it replaces the one before."""
    return _told(session, args, origin, lambda _: TaskSet(args.description))


@operation("task.update", Described, example={"description": "Implement the auth middleware, tests left"})
def update(session: SessionCore, args: Described, origin: Origin) -> Answer:
    """Describe the current task better. Where none is set, this sets it."""
    return _told(
        session,
        args,
        origin,
        lambda state: TaskUpdate(args.description) if state.task else TaskSet(args.description),
    )


@operation("task.clear", Nothing, example={})
def clear(session: SessionCore, _: Nothing, origin: Origin) -> Answer:
    """Say that there is no task now."""
    change = record(session, origin, lambda _: (TaskClear(),))
    return Answer("Cleared the task." if change else "No task was set.", {"id": "task", "recorded": bool(change)})


def _told(session: SessionCore, args: Described, origin: Origin, payload: Callable[[HudState], Payload]) -> Answer:
    def decide(state: HudState) -> Sequence[Payload]:
        return () if state.task.description == stored(args.description) else (payload(state),)

    change = record(session, origin, decide)
    if not change:
        return Answer("The task is so already.", {"id": "task", "recorded": False})
    text = f"{'Updated' if change.before.task else 'Set'} the task: {echo(change.after.task.description)}."
    return Answer(text + change.note, {"id": "task", "recorded": True})
