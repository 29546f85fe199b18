"""Steps: the agent's plan, in its order, done ones included."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    SectionClear,
    SectionReplace,
    StepAdd,
    StepComplete,
    StepRemove,
    StepReorder,
    StepUpdate,
)
from hudkit.sections.items import Item, Items, add, change, cleared, drop, mark, replace_texts


class Step(Item, frozen=True, omit_defaults=True):
    description: str = ""
    completed: bool = False

    @property
    def words(self) -> str:
        return self.description


class Steps(Items[Step], frozen=True, omit_defaults=True):
    """Steps in order; a step's order is its place."""

    @property
    def open(self) -> tuple[Step, ...]:
        """The steps that are not done."""
        return tuple(step for step in self.items if not step.completed)


HANDLES = (StepAdd, StepUpdate, StepComplete, StepReorder, StepRemove, SectionReplace, SectionClear)


def reduce(steps: Steps, event: Event) -> Steps:
    match event.payload:
        case StepAdd(description=description, id=id):
            done = steps.find(description)
            if done is not None and done.completed:  # the same work once more: the old one makes room
                steps = drop(steps, done.id)
            return add(steps, "s", Step(id, mark(event), description))
        case StepUpdate(id=id, description=description):
            return change(steps, id, event, description=description)
        case StepComplete(id=id):
            return change(steps, id, event, completed=True)
        case StepRemove(id=id):
            return drop(steps, id)
        case StepReorder(ids=ids):
            first = {id: place for place, id in enumerate(ids)}
            ordered = sorted(steps.items, key=lambda step: first.get(step.id, len(first)))
            return msgspec.structs.replace(steps, items=tuple(ordered))
        case SectionReplace(section="steps", values=values):
            return replace_texts(steps, "s", values, lambda text: Step("", mark(event), text))
        case SectionClear(section="steps" | ""):
            return cleared(steps)
    return steps
