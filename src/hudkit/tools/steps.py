"""Operations on steps, the agent's plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Origin
from hudkit.log.payloads import Payload, StepAdd, StepComplete, StepRemove, StepReorder, StepUpdate
from hudkit.sections.state import HudState
from hudkit.sections.steps import PlannedStep
from hudkit.tools.answer_text import PageArguments, item_row, list_rows, quote
from hudkit.tools.operation import (
    MAX_VALUES,
    SECTION_LISTINGS,
    AnswerRow,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, record, remove_from_section
from hudkit.tools.resolve_item import ItemName, resolve_item

StepName = Annotated[
    ItemName | int,
    Meta(description="The step's id, its place (from 1), its text, or a part of it that no other has."),
]


class _NewStep(OperationArguments, frozen=True):
    description: Annotated[Text, Meta(description="What is to be done.")]


class _StepChange(OperationArguments, frozen=True):
    id: StepName
    description: Annotated[Text, Meta(description="What is to be done instead.")]


class _ThatStep(OperationArguments, frozen=True):
    id: StepName


class _Order(OperationArguments, frozen=True):
    ids: Annotated[
        tuple[ItemName | int, ...],
        Meta(
            min_length=1,
            max_length=MAX_VALUES,
            description="Steps by id, place or text, in their new order; steps that are not named follow behind.",
        ),
    ]


class _HudStep(OperationArguments, frozen=True):
    step: Annotated[Text, Meta(description="What is to be done.")]


@section_listing("steps", "Steps", also=("nextSteps",), replaces="texts", clears=True, ordered=True)
def _rows(state: HudState) -> tuple[AnswerRow, ...]:
    return tuple(item_row(step, step.description, "done" if step.completed else "") for step in state.steps)


def _resolve(state: HudState, name: str | int) -> PlannedStep:
    return resolve_item(state.steps.items, name, "step", lambda step: step.description, places=True)


@reading("steps.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the steps in their order, those that are done included."""
    return list_rows(SECTION_LISTINGS["steps"], _rows(session.state), args, session.state.time)


@operation("steps.add", _NewStep, example={"description": "Write the tests"})
def _add(session: SessionCore, args: _NewStep, origin: Origin) -> OperationResult:
    """Add a step at the end. An open step with the same text is not added twice."""
    return add_to_section(session, origin, "steps", "step", StepAdd(args.description))


@operation("steps.update", _StepChange, example={"id": "s2", "description": "Write the tests first"})
def _update(session: SessionCore, args: _StepChange, origin: Origin) -> OperationResult:
    """Change what a step says. Where another open step says so already, only that one stays."""
    ids = ["", ""]

    def decide(state: HudState) -> Sequence[Payload]:
        step, twin = _resolve(state, args.id), state.steps.find(args.description)
        ids[:] = step.id, ""
        if twin is None or twin.id == step.id:
            return (StepUpdate(step.id, args.description),)
        if twin.completed and not step.completed:  # the open one is the live one
            return StepRemove(twin.id), StepUpdate(step.id, args.description)
        ids[1] = twin.id
        return (StepRemove(step.id),)

    change = record(session, origin, decide)
    id, twin = ids
    if twin:
        return OperationResult(f"Already there: step {twin}; removed {id}.", {"id": twin, "recorded": True})
    text = f"Updated step {id}." if change else f"Step {id} says so already."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change)})


@operation("steps.complete", _ThatStep, example={"id": "s1"})
def _complete(session: SessionCore, args: _ThatStep, origin: Origin) -> OperationResult:
    """Mark a step as done; the answer names the next open one."""
    done: list[PlannedStep] = []

    def decide(state: HudState) -> Sequence[Payload]:
        done[:] = [_resolve(state, args.id)]
        return (StepComplete(done[0].id),)

    change = record(session, origin, decide)
    step, left = done[0], change.after.steps.open
    following = f" Next: {left[0].id} {quote(left[0].description)}." if left else " No step is open."
    data = {"id": step.id, "recorded": bool(change), "next": left[0].id if left else None}
    return OperationResult(f"{'Completed' if change else 'Already done:'} step {step.id}.{following}", data)


@operation("steps.reorder", _Order, example={"ids": ["s3", "s1"]})
def _reorder(session: SessionCore, args: _Order, origin: Origin) -> OperationResult:
    """Put steps first, in the order given; the others keep their order behind them."""

    def decide(state: HudState) -> Sequence[Payload]:
        # All are resolved before one is moved: a wrong name moves none.
        ids = [_resolve(state, name).id for name in args.ids]
        twice = next((id for n, id in enumerate(ids) if id in ids[:n]), None)
        if twice is not None:
            raise OperationError(f'"ids" names step {twice} twice', hint="Name each step once.")
        return (StepReorder(tuple(ids)),)

    change = record(session, origin, decide)
    order = [step.id for step in change.after.steps]
    names = ", ".join(order[:20]) + (f" and {len(order) - 20} more" if len(order) > 20 else "")
    return OperationResult(
        f"{'The order is now' if change else 'The order is already'} {names}.",
        {"ids": order, "recorded": bool(change)},
    )


@operation("steps.remove", _ThatStep, example={"id": "s1"})
def _remove(session: SessionCore, args: _ThatStep, origin: Origin) -> OperationResult:
    """Remove a step that is not to be done."""
    return remove_from_section(session, origin, "step", lambda state: _resolve(state, args.id), StepRemove)


@alias("hud_step", _HudStep, writes=True, example={"step": "Write the tests"})
def _hud_step(args: _HudStep) -> OperationCall:
    """Add a next step."""
    return OperationCall("steps.add", _NewStep(args.step))
