"""Constraints: rules that hold until they are removed."""

from __future__ import annotations

from hudkit.compose import Element
from hudkit.log.event import Event
from hudkit.log.payloads import ConstraintAdd, ConstraintConfirm, ConstraintRemove, SectionClear, SectionReplace
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    clear_items,
    confirm_item,
    mark_of,
    may_derive,
    remember_refused,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, SectionView, ShownItem, item_list, origin_label


class Constraint(SectionItem, frozen=True, omit_defaults=True):
    """A rule; a `derived` one was read from plain words, and `source` tells where it stands."""

    text: str = ""
    derived: bool = False
    source: str = ""

    @property
    def words(self) -> str:
        """Return the rule."""
        return self.text


class ConstraintsState(ItemList[Constraint], frozen=True, omit_defaults=True):
    """Live constraints in the order in which they were added; one text stands once.

    `refused` are the texts of derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


def _reduce(constraints: ConstraintsState, event: Event) -> ConstraintsState:
    match event.payload:
        case ConstraintAdd(text=text, id=id, derived=derived, source=source):
            if derived and not may_derive(constraints, text):
                return constraints
            return add_item(constraints, "c", Constraint(id, mark_of(event), text, derived, source))
        case ConstraintRemove(id=id, text=text, derived=derived):
            rule = constraints.get(id) if id else constraints.find(text)
            if rule is None:
                return constraints
            after = remove_item(constraints, rule.id)
            # What a rule takes back it may derive again; what a person removes it may not.
            return after if derived else remember_refused(constraints, after)
        case ConstraintConfirm(id=id):
            return confirm_item(constraints, id, event)
        case SectionReplace(section="constraints", values=values):
            after = replace_texts(constraints, "c", values, lambda text: Constraint("", mark_of(event), text))
            return remember_refused(constraints, after)
        case SectionClear(section="constraints" | ""):
            return remember_refused(constraints, clear_items(constraints))
    return constraints


def _label(rule: Constraint) -> str:
    return origin_label(rule.mark.origin, rule.derived)


def _show(constraints: ConstraintsState, view: SectionView) -> Element | None:
    shown = (ShownItem(rule.id, rule.text, label=_label(rule)) for rule in constraints.items)
    return item_list(shown, view)


def _rows(constraints: ConstraintsState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(rule.id, rule.text + _label(rule)) for rule in constraints.items)


LOGIC = SectionLogic(
    handles=(ConstraintAdd, ConstraintRemove, ConstraintConfirm, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
)
