"""Decisions: what was decided and why, without those that were removed or superseded."""

from __future__ import annotations

from hudkit.events.event import Event
from hudkit.events.payloads import DecisionRecord, DecisionRemove, DecisionSupersede, SectionClear, SectionReplace
from hudkit.projections.items import Item, Items, add, cleared, drop, mark, replace_texts


class Decision(Item, frozen=True, omit_defaults=True):
    summary: str = ""
    details: str = ""
    derived: bool = False

    @property
    def words(self) -> str:
        return self.summary


class Decisions(Items[Decision], frozen=True, omit_defaults=True):
    """Live decisions in the order in which they were recorded. A superseded one is gone for good: its id is never
    given again, and the log keeps it."""


HANDLES = (DecisionRecord, DecisionRemove, DecisionSupersede, SectionReplace, SectionClear)


def reduce(decisions: Decisions, event: Event) -> Decisions:
    match event.payload:
        case DecisionRecord(summary=summary, details=details, id=id, derived=derived):
            return add(decisions, "d", Decision(id, mark(event), summary, details, derived))
        case DecisionRemove(id=id) | DecisionSupersede(id=id):
            return drop(decisions, id)
        case SectionReplace(section="decisions", values=values):
            return replace_texts(decisions, "d", values, lambda text: Decision("", mark(event), text))
        case SectionClear(section="decisions" | ""):
            return cleared(decisions)
    return decisions
