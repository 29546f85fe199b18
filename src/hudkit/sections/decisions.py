"""Decisions: what was decided and why, without those that were removed or superseded."""

from __future__ import annotations

from hudkit.compose import Element
from hudkit.log.event import Event
from hudkit.log.payloads import (
    DecisionConfirm,
    DecisionRecord,
    DecisionRemove,
    DecisionSupersede,
    SectionClear,
    SectionReplace,
)
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


class Decision(SectionItem, frozen=True, omit_defaults=True):
    """What was decided (`summary`) and why (`details`); a `derived` one was read from plain words."""

    summary: str = ""
    details: str = ""
    derived: bool = False

    @property
    def words(self) -> str:
        """Return what was decided."""
        return self.summary


class DecisionsState(ItemList[Decision], frozen=True, omit_defaults=True):
    """Live decisions in the order in which they were recorded.

    A superseded one is gone for good: its id is never given again, and the log keeps it. `refused` are the texts of
    derived ones that somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()


def _reduce(decisions: DecisionsState, event: Event) -> DecisionsState:
    match event.payload:
        case DecisionRecord(summary=summary, details=details, id=id, derived=derived, replaces=replaces):
            if derived and not may_derive(decisions, summary):
                return decisions
            for replaced_text in replaces:
                replaced = decisions.find(replaced_text)
                if replaced is not None and replaced_text != summary:
                    decisions = remove_item(decisions, replaced.id)
            return add_item(decisions, "d", Decision(id, mark_of(event), summary, details, derived))
        case DecisionRemove(id=id):
            return remember_refused(decisions, remove_item(decisions, id))
        case DecisionSupersede(id=id):
            # Not refused: what was superseded may be decided again.
            return remove_item(decisions, id)
        case DecisionConfirm(id=id):
            return confirm_item(decisions, id, event)
        case SectionReplace(section="decisions", values=values):
            after = replace_texts(decisions, "d", values, lambda text: Decision("", mark_of(event), text))
            return remember_refused(decisions, after)
        case SectionClear(section="decisions" | ""):
            return remember_refused(decisions, clear_items(decisions))
    return decisions


def _label(decision: Decision) -> str:
    return origin_label(decision.mark.origin, decision.derived)


def _show(decisions: DecisionsState, view: SectionView) -> Element | None:
    shown = (ShownItem(item.id, item.summary, label=_label(item)) for item in decisions.items)
    return item_list(shown, view)


def _rows(decisions: DecisionsState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.id, item.summary + _label(item)) for item in decisions.items)


LOGIC = SectionLogic(
    handles=(DecisionRecord, DecisionRemove, DecisionSupersede, DecisionConfirm, SectionReplace, SectionClear),
    reduce=_reduce,
    show=_show,
    rows=_rows,
)
