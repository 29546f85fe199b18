"""Decisions: what was decided and why, without those that were removed or superseded."""

from __future__ import annotations

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


class Decision(Item, frozen=True, omit_defaults=True):
    summary: str = ""
    details: str = ""
    derived: bool = False

    @property
    def words(self) -> str:
        return self.summary


class Decisions(Items[Decision], frozen=True, omit_defaults=True):
    """Live decisions in the order in which they were recorded. A superseded one is gone for good: its id is never
    given again, and the log keeps it. `refused` are the texts of derived ones that somebody removed: they are not
    derived again."""

    refused: tuple[str, ...] = ()


HANDLES = (DecisionRecord, DecisionRemove, DecisionSupersede, DecisionConfirm, SectionReplace, SectionClear)


def reduce(decisions: Decisions, event: Event) -> Decisions:
    match event.payload:
        case DecisionRecord(summary=summary, details=details, id=id, derived=derived, replaces=replaces):
            if derived and not derivable(decisions, summary):
                return decisions
            for old in replaces:
                known = decisions.find(old)
                decisions = drop(decisions, known.id) if known is not None and old != summary else decisions
            return add(decisions, "d", Decision(id, mark(event), summary, details, derived))
        case DecisionRemove(id=id):
            return refused(decisions, drop(decisions, id))
        case DecisionSupersede(id=id):
            return drop(decisions, id)
        case DecisionConfirm(id=id):
            return confirmed(decisions, id, event)
        case SectionReplace(section="decisions", values=values):
            after = replace_texts(decisions, "d", values, lambda text: Decision("", mark(event), text))
            return refused(decisions, after)
        case SectionClear(section="decisions" | ""):
            return refused(decisions, cleared(decisions))
    return decisions
