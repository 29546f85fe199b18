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
from hudkit.tools.lines import Page, echo, listing, row
from hudkit.tools.naming import Name, named
from hudkit.tools.operation import (
    MOST_VALUES,
    SHOWN,
    Answer,
    Arguments,
    Call,
    Row,
    Text,
    alias,
    operation,
    reading,
    section,
)
from hudkit.tools.record import added, record, removed

StepName = Annotated[
    Name | int, Meta(description="The step's id, its place (from 1), its text, or a part of it that no other has.")
]


class NewStep(Arguments, frozen=True):
    description: Annotated[Text, Meta(description="What is to be done.")]


class StepChange(Arguments, frozen=True):
    id: StepName
    description: Annotated[Text, Meta(description="What is to be done instead.")]


class ThatStep(Arguments, frozen=True):
    id: StepName


class Order(Arguments, frozen=True):
    ids: Annotated[
        tuple[Name | int, ...],
        Meta(
            min_length=1,
            max_length=MOST_VALUES,
            description="Steps by id, place or text, in their new order; steps that are not named follow behind.",
        ),
    ]


class HudStep(Arguments, frozen=True):
    step: Annotated[Text, Meta(description="What is to be done.")]


@section("steps", "Steps", also=("nextSteps",), replaces="texts", clears=True, ordered=True)
def rows(state: HudState) -> tuple[Row, ...]:
    return tuple(row(step, step.description, "done" if step.completed else "") for step in state.steps)


def _named(state: HudState, name: str | int) -> PlannedStep:
    return named(state.steps.items, name, "step", lambda step: step.description, places=True)


@reading("steps.list", Page)
def list_(session: SessionCore, args: Page) -> Answer:
    """List the steps in their order, those that are done included."""
    return listing(SHOWN["steps"], rows(session.state), args, session.state.time)


@operation("steps.add", NewStep, example={"description": "Write the tests"})
def add(session: SessionCore, args: NewStep, origin: Origin) -> Answer:
    """Add a step at the end. An open step with the same text is not added twice."""
    return added(session, origin, "steps", "step", StepAdd(args.description))


@operation("steps.update", StepChange, example={"id": "s2", "description": "Write the tests first"})
def update(session: SessionCore, args: StepChange, origin: Origin) -> Answer:
    """Change what a step says. Where another open step says so already, only that one stays."""
    ids = ["", ""]

    def decide(state: HudState) -> Sequence[Payload]:
        step, twin = _named(state, args.id), state.steps.find(args.description)
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
        return Answer(f"Already there: step {twin}; removed {id}.", {"id": twin, "recorded": True})
    text = f"Updated step {id}." if change else f"Step {id} says so already."
    return Answer(text + change.note, {"id": id, "recorded": bool(change)})


@operation("steps.complete", ThatStep, example={"id": "s1"})
def complete(session: SessionCore, args: ThatStep, origin: Origin) -> Answer:
    """Mark a step as done; the answer names the next open one."""
    done: list[PlannedStep] = []

    def decide(state: HudState) -> Sequence[Payload]:
        done[:] = [_named(state, args.id)]
        return (StepComplete(done[0].id),)

    change = record(session, origin, decide)
    step, left = done[0], change.after.steps.open
    following = f" Next: {left[0].id} {echo(left[0].description)}." if left else " No step is open."
    data = {"id": step.id, "recorded": bool(change), "next": left[0].id if left else None}
    return Answer(f"{'Completed' if change else 'Already done:'} step {step.id}.{following}", data)


@operation("steps.reorder", Order, example={"ids": ["s3", "s1"]})
def reorder(session: SessionCore, args: Order, origin: Origin) -> Answer:
    """Put steps first, in the order given; the others keep their order behind them."""

    def decide(state: HudState) -> Sequence[Payload]:
        ids = [_named(state, name).id for name in args.ids]
        twice = next((id for n, id in enumerate(ids) if id in ids[:n]), None)
        if twice is not None:
            raise OperationError(f'"ids" names step {twice} twice', hint="Name each step once.")
        return (StepReorder(tuple(ids)),)

    change = record(session, origin, decide)
    order = [step.id for step in change.after.steps]
    told = ", ".join(order[:20]) + (f" and {len(order) - 20} more" if len(order) > 20 else "")
    return Answer(
        f"{'The order is now' if change else 'The order is already'} {told}.",
        {"ids": order, "recorded": bool(change)},
    )


@operation("steps.remove", ThatStep, example={"id": "s1"})
def remove(session: SessionCore, args: ThatStep, origin: Origin) -> Answer:
    """Remove a step that is not to be done."""
    return removed(session, origin, "step", lambda state: _named(state, args.id), StepRemove)


@alias("hud_step", HudStep, writes=True, example={"step": "Write the tests"})
def hud_step(args: HudStep) -> Call:
    """Add a next step."""
    return Call("steps.add", NewStep(args.step))
