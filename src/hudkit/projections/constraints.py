"""Constraints: rules that hold until they are removed."""

from __future__ import annotations

from hudkit.events.event import Event
from hudkit.events.payloads import ConstraintAdd, ConstraintRemove, SectionClear, SectionReplace
from hudkit.projections.items import Item, Items, add, cleared, drop, mark, replace_texts


class Constraint(Item, frozen=True, omit_defaults=True):
    text: str = ""
    derived: bool = False
    source: str = ""

    @property
    def words(self) -> str:
        return self.text


class Constraints(Items[Constraint], frozen=True, omit_defaults=True):
    """Live constraints in the order in which they were added; one text stands once."""


HANDLES = (ConstraintAdd, ConstraintRemove, SectionReplace, SectionClear)


def reduce(constraints: Constraints, event: Event) -> Constraints:
    match event.payload:
        case ConstraintAdd(text=text, id=id, derived=derived, source=source):
            return add(constraints, "c", Constraint(id, mark(event), text, derived, source))
        case ConstraintRemove(id=id):
            return drop(constraints, id)
        case SectionReplace(section="constraints", values=values):
            return replace_texts(constraints, "c", values, lambda text: Constraint("", mark(event), text))
        case SectionClear(section="constraints" | ""):
            return cleared(constraints)
    return constraints
