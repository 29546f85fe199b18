"""Decisions: what was decided and why, without those that were removed or superseded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.lazy import lazy_pattern
from hudkit.log.event import Event
from hudkit.log.payloads import (
    LESS_SURE_FORMS,
    DecisionConfirm,
    DecisionRecord,
    DecisionRemove,
    DecisionSupersede,
    SectionClear,
    SectionReplace,
    StatementDoubt,
    StatementPromote,
)
from hudkit.sections.items import (
    ItemList,
    SectionItem,
    add_item,
    clear_items,
    confirm_item,
    doubt_item,
    mark_of,
    may_derive,
    promote_item,
    remember_refused,
    remove_item,
    replace_texts,
)
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, derived_label

_MAX_SUPERSEDED = 50
"""Superseded decisions of which it is remembered what replaced them: more than one delta tells."""

_DERIVED_SHOWN = 5
"""Derived decisions, the newest, that have their turn with those that were recorded."""

_DERIVED_PRIORITY = 63
"""The priority of the older derived ones, and of those that are known by their grammar alone: behind the notes, which
the agent recorded itself. Nobody confirmed them, and nobody may have said that they are over."""


class Decision(SectionItem, frozen=True, omit_defaults=True):
    """What was decided (`summary`) and why (`details`); a `derived` one was read from plain words.

    `doubt` is a later sentence against it; it names an exception where the decision is `suspended`.
    """

    summary: str = ""
    details: str = ""
    derived: bool = False
    doubt: str = ""
    suspended: bool = False
    by_grammar: bool = False

    @property
    def words(self) -> str:
        """Return what was decided."""
        return self.summary


class DecisionsState(ItemList[Decision], frozen=True, omit_defaults=True):
    """Live decisions in the order in which they were recorded.

    A superseded one is gone for good: its id is never given again, and the log keeps it. `superseded` has the ids of
    the newest of these, each with the id of the one that replaced it. `refused` are the texts of derived ones that
    somebody removed: they are not derived again.
    """

    refused: tuple[str, ...] = ()
    superseded: tuple[tuple[str, str], ...] = ()


def _reduce(decisions: DecisionsState, event: Event) -> DecisionsState:
    match event.payload:
        case DecisionRecord(summary=summary, details=details, id=id, derived=derived, replaces=replaces, form=form):
            if derived and not may_derive(decisions, summary):
                return decisions
            superseded = [decisions.find(text) for text in replaces if text != summary]
            olds = [old.id for old in superseded if old is not None]
            for old_id in olds:
                decisions = remove_item(decisions, old_id)
            by_grammar = form in LESS_SURE_FORMS
            decision = Decision(id, mark_of(event), summary, details, derived, by_grammar=by_grammar)
            decisions = add_item(decisions, "d", decision)
            new = decisions.find(summary)
            return _note_superseded(decisions, olds, new.id if new else "")
        case DecisionRemove(id=id, summary=summary, derived=derived):
            gone = decisions.get(id) if id else decisions.find(summary)
            if gone is None:
                return decisions
            after = remove_item(decisions, gone.id)
            # What a sentence takes back may be decided again; what a person removes may not be derived again.
            return after if derived else remember_refused(decisions, after)
        case DecisionSupersede(id=id, by=by):
            # Not refused: what was superseded may be decided again.
            return _note_superseded(remove_item(decisions, id), [id], by)
        case DecisionConfirm(id=id):
            return confirm_item(decisions, id, event)
        case StatementPromote(section="decisions", text=text):
            return promote_item(decisions, text, event)
        case StatementDoubt(section="decisions", text=text, by=by, suspended=suspended):
            return doubt_item(decisions, text, by, suspended)
        case SectionReplace(section="decisions", values=values):
            after = replace_texts(decisions, "d", values, lambda text: Decision("", mark_of(event), text))
            return remember_refused(decisions, after)
        case SectionClear(section="decisions" | ""):
            return remember_refused(decisions, clear_items(decisions))
    return decisions


def _note_superseded(decisions: DecisionsState, olds: Sequence[str], by: str) -> DecisionsState:
    if not olds or not by:
        return decisions
    pairs = (*decisions.superseded, *((old, by) for old in olds))
    return msgspec.structs.replace(decisions, superseded=pairs[-_MAX_SUPERSEDED:])


def _reason(item: Decision) -> str:
    """The reason without the word that stands in front of it in a frame."""
    return _BECAUSE.sub("", item.details.strip())


_BECAUSE = lazy_pattern(r"\Abecause(?: of)?:?\s+(?=\S)", re.IGNORECASE)


def _items(decisions: DecisionsState) -> Iterator[ShownItem]:
    newer = sum(item.derived for item in decisions.items)
    for item in decisions.items:
        newer -= item.derived
        # What may be over leaves with the next base.
        if item.doubt and not item.suspended:
            continue
        comes_late = item.derived and (item.by_grammar or newer >= _DERIVED_SHOWN)
        priority = _DERIVED_PRIORITY if comes_late else None
        yield ShownItem(item.id, item.summary, label=derived_label(item), priority=priority, reason=_reason(item))


def _rows(decisions: DecisionsState) -> tuple[KeyedRow, ...]:
    return tuple(
        KeyedRow(
            item.id,
            item.summary + derived_label(item),
            replaces=tuple(old for old, by in decisions.superseded if by == item.id),
            reason=_reason(item),
        )
        for item in decisions.items
    )


LOGIC = SectionLogic(
    handles=(
        DecisionRecord,
        DecisionRemove,
        DecisionSupersede,
        DecisionConfirm,
        StatementDoubt,
        StatementPromote,
        SectionReplace,
        SectionClear,
    ),
    reduce=_reduce,
    items=_items,
    rows=_rows,
)
