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
    AnyText,
    OperationArguments,
    OperationCall,
    OperationResult,
    Text,
    TextOrTexts,
    alias,
    operation,
    reading,
    section_listing,
)
from hudkit.tools.record import add_to_section, record, recorded_ids, remove_from_section
from hudkit.tools.replaced_item import same_item, twin_error
from hudkit.tools.resolve_item import ItemName, OneItem, resolve_item, resolve_items

StepName = Annotated[
    ItemName | int,
    Meta(description="The step's id, its place (from 1), its text, or a part of it that no other has."),
]


class _NewStep(OperationArguments, frozen=True):
    description: Annotated[TextOrTexts, Meta(description="What is to be done; of a list, each is a step.")]


class _StepChange(OperationArguments, frozen=True):
    description: Annotated[Text, Meta(description="What is to be done instead.")]
    id: Annotated[
        AnyText | int,
        Meta(description="The step's id, place, text, or a part of it; left out: the step most like the new text."),
    ] = ""


class _TheseSteps(OperationArguments, frozen=True):
    id: Annotated[
        OneItem | int | Annotated[tuple[ItemName | int, ...], Meta(min_length=1, max_length=MAX_VALUES)],
        Meta(description="The step, or a list of steps: id, place (from 1), text, or words that no other has."),
    ]


class _Order(OperationArguments, frozen=True):
    ids: Annotated[
        OneItem | int | Annotated[tuple[ItemName | int, ...], Meta(min_length=1, max_length=MAX_VALUES)],
        Meta(
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


def _resolve_all(state: HudState, names: str | int | Sequence[str | int]) -> list[PlannedStep]:
    return resolve_items(state.steps.items, names, "step", lambda step: step.description, places=True)


@reading("steps.list", PageArguments)
def _list(session: SessionCore, args: PageArguments) -> OperationResult:
    """List the steps in their order, those that are done included."""
    return list_rows(SECTION_LISTINGS["steps"], _rows(session.state), args, session.state.time)


@operation("steps.add", _NewStep, example={"description": "Write the tests"})
def _add(session: SessionCore, args: _NewStep, origin: Origin) -> OperationResult:
    """Add steps at the end. An open step with the same text is not added twice."""
    return add_to_section(session, origin, "steps", "step", args.description, StepAdd)


@operation("steps.update", _StepChange, example={"id": "s2", "description": "Write the tests first"})
def _update(session: SessionCore, args: _StepChange, origin: Origin) -> OperationResult:
    """Change what a step says; what another open step says already is refused."""
    id = ""

    def decide(state: HudState) -> Sequence[Payload]:
        nonlocal id
        step, twin = _resolve(state, args.id or args.description), state.steps.find(args.description)
        id = step.id
        if twin is None or twin.id == step.id:
            if same_item((step,), args.description):
                return ()
            return (StepUpdate(step.id, args.description),)
        if twin.completed and not step.completed:  # the open one is the live one
            return StepRemove(twin.id), StepUpdate(step.id, args.description)
        raise twin_error("step", step.id, twin.id)

    change = record(session, origin, decide)
    text = f"Updated step {id}." if change else f"Step {id} says so already."
    return OperationResult(text + change.note, {"id": id, "recorded": bool(change)})


@operation("steps.complete", _TheseSteps, example={"id": "s1"})
def _complete(session: SessionCore, args: _TheseSteps, origin: Origin) -> OperationResult:
    """Mark steps as done; the answer names the next open one."""
    done: list[PlannedStep] = []

    def decide(state: HudState) -> Sequence[Payload]:
        done[:] = _resolve_all(state, args.id)
        return [StepComplete(step.id) for step in done]

    change = record(session, origin, decide)
    several = isinstance(args.id, tuple) or len(done) > 1
    left = change.after.steps.open
    following = f" Next: {left[0].id} {quote(left[0].description)}." if left else " No step is open."
    data = {**recorded_ids([step.id for step in done], change, several=several), "next": left[0].id if left else None}
    ids = ", ".join(step.id for step in done)
    return OperationResult(
        f"{'Completed' if change else 'Already done:'} step{'s' if several else ''} {ids}.{following}", data
    )


@operation("steps.reorder", _Order, example={"ids": ["s3", "s1"]})
def _reorder(session: SessionCore, args: _Order, origin: Origin) -> OperationResult:
    """Put steps first, in the order given; the others keep their order behind them."""

    def decide(state: HudState) -> Sequence[Payload]:
        # All are resolved before one is moved: a wrong name moves none.
        names = args.ids if isinstance(args.ids, tuple) else (args.ids,)
        ids = [_resolve(state, name).id for name in names]
        twice = next((id for n, id in enumerate(ids) if id in ids[:n]), None)
        if twice is not None:
            raise OperationError(f'"items" names step {twice} twice', hint="Name each step once.")
        return (StepReorder(tuple(ids)),)

    change = record(session, origin, decide)
    order = [step.id for step in change.after.steps]
    names = ", ".join(order[:20]) + (f" and {len(order) - 20} more" if len(order) > 20 else "")
    return OperationResult(
        f"{'The order is now' if change else 'The order is already'} {names}.",
        {"ids": order, "recorded": bool(change)},
    )


@operation("steps.remove", _TheseSteps, example={"id": "s1"})
def _remove(session: SessionCore, args: _TheseSteps, origin: Origin) -> OperationResult:
    """Remove steps that are not to be done."""
    several = isinstance(args.id, tuple)
    return remove_from_section(
        session, origin, "step", lambda state: _resolve_all(state, args.id), StepRemove, several=several
    )


@alias("hud_step", _HudStep, writes=True, example={"step": "Write the tests"})
def _hud_step(args: _HudStep) -> OperationCall:
    """Add a next step."""
    return OperationCall("steps.add", _NewStep(args.step))
