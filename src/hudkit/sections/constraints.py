"""Constraints: rules that hold until they are removed."""

from __future__ import annotations

from hudkit.log.event import Event
from hudkit.log.payloads import ConstraintAdd, ConstraintConfirm, ConstraintRemove, SectionClear, SectionReplace
from hudkit.sections.items import (
    Item,
    Items,
    add,
    cleared,
    confirmed,
    derivable,
    drop,
    mark,
    refused,
    replace_texts,
)


class Constraint(Item, frozen=True, omit_defaults=True):
    text: str = ""
    derived: bool = False
    source: str = ""

    @property
    def words(self) -> str:
        return self.text


class Constraints(Items[Constraint], frozen=True, omit_defaults=True):
    """Live constraints in the order in which they were added; one text stands once.

    `refused` are the texts of derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


HANDLES = (ConstraintAdd, ConstraintRemove, ConstraintConfirm, SectionReplace, SectionClear)


def reduce(constraints: Constraints, event: Event) -> Constraints:
    match event.payload:
        case ConstraintAdd(text=text, id=id, derived=derived, source=source):
            if derived and not derivable(constraints, text):
                return constraints
            return add(constraints, "c", Constraint(id, mark(event), text, derived, source))
        case ConstraintRemove(id=id, text=text, derived=derived):
            known = constraints.get(id) if id else constraints.find(text)
            if known is None:
                return constraints
            after = drop(constraints, known.id)
            return after if derived else refused(constraints, after)
        case ConstraintConfirm(id=id):
            return confirmed(constraints, id, event)
        case SectionReplace(section="constraints", values=values):
            after = replace_texts(constraints, "c", values, lambda text: Constraint("", mark(event), text))
            return refused(constraints, after)
        case SectionClear(section="constraints" | ""):
            return refused(constraints, cleared(constraints))
    return constraints
