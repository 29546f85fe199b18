"""Steps: the agent's plan, in its order, done ones included; those are struck and leave the view first."""

from __future__ import annotations

from collections.abc import Iterator

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
from hudkit.sections.items import (
    MAX_RECENT,
    Compactions,
    ItemList,
    SectionItem,
    add_item,
    change_item,
    clear_items,
    mark_of,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import CURRENT_PRIORITY, KeyedRow, SectionLogic, ShownItem


class PlannedStep(SectionItem, frozen=True, omit_defaults=True):
    """A step of the agent's plan."""

    description: str = ""
    completed: bool = False

    @property
    def words(self) -> str:
        """Return what is to be done."""
        return self.description


class StepsState(ItemList[PlannedStep], frozen=True, omit_defaults=True):
    """Steps in order; a step's order is its place."""

    @property
    def open(self) -> tuple[PlannedStep, ...]:
        """Return the steps that are not done."""
        return tuple(step for step in self.items if not step.completed)


def _reduce(steps: StepsState, event: Event) -> StepsState:
    match event.payload:
        case StepAdd(description=description, id=id):
            twin = steps.find(description)
            if twin is not None and twin.completed:
                # The same work once more: the step that was done makes room for the open one.
                steps = remove_item(steps, twin.id)
            return add_item(steps, "s", PlannedStep(id, mark_of(event), description))
        case StepUpdate(id=id, description=description):
            return change_item(steps, id, event, description=description)
        case StepComplete(id=id):
            return change_item(steps, id, event, completed=True)
        case StepRemove(id=id):
            return remove_item(steps, id)
        case StepReorder(ids=ids):
            first = {id: place for place, id in enumerate(ids)}
            # `sorted` is stable: steps that are not named keep their order behind the named ones.
            ordered = sorted(steps.items, key=lambda step: first.get(step.id, len(first)))
            return msgspec.structs.replace(steps, items=tuple(ordered))
        case SectionReplace(section="steps", values=values):
            return replace_texts(steps, "s", values, lambda text: PlannedStep("", mark_of(event), text))
        case SectionClear(section="steps" | ""):
            return clear_items(steps)
    return steps


def finished_before(steps: StepsState, seq: int) -> tuple[PlannedStep, ...]:
    """Return the last steps that were finished before event `seq`, the newest first."""
    done = [step for step in steps if step.completed and step.mark.seq < seq]
    return tuple(sorted(done, key=lambda step: -step.mark.seq)[:MAX_RECENT])


def _items(steps: StepsState, recent: Compactions) -> Iterator[ShownItem]:
    current = next(iter(steps.open), None)
    # The section `recent` has them.
    elsewhere = finished_before(steps, recent.compacted)
    for step in steps.items:
        if step in elsewhere:
            continue
        priority = CURRENT_PRIORITY if step is current else None
        yield ShownItem(step.id, step.description, step.completed, priority=priority)


def _rows(steps: StepsState, *_others: object) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(step.id, step.description, step.completed) for step in steps.items)


LOGIC = SectionLogic(
    handles=(StepAdd, StepUpdate, StepComplete, StepReorder, StepRemove, SectionReplace, SectionClear),
    reduce=_reduce,
    items=_items,
    rows=_rows,
    reads=("steps", "recent"),
)
