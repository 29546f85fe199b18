"""Shared: what the parent of a session shares with it, what its subagents brought back, and what it reports itself.

Each line says whose it is. What this session reports to its parent is not shown: the agent said it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from hudkit.compose import shorten
from hudkit.log.event import Event
from hudkit.log.payloads import ShareReport, ShareSync
from hudkit.sections.items import ItemList, SectionItem, add_item, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem

_VERBS = {"task": "task", "constraint": "constraint", "decision": "decided", "report": "reports"}


_PRIORITIES = {"task": 87, "constraint": 92, "decision": 78}
"""What a parent shares has its turn with what is alike in this session: its rules behind the own ones."""


class ParentReport(SectionItem, frozen=True, omit_defaults=True):
    """A result for the session that started this one."""

    text: str = ""

    @property
    def words(self) -> str:
        """Return the result."""
        return self.text


class ParentReports(ItemList[ParentReport], frozen=True, omit_defaults=True):
    """Results for the parent, in the order in which they were reported."""


class SharedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """`sources` hold what each linked session shares, as it was last told; `reports` go to the parent."""

    sources: tuple[ShareSync, ...] = ()
    reports: ParentReports = ParentReports()

    def of(self, session_id: str) -> ShareSync | None:
        """Return what the session with this id shares, or `None`."""
        return next((source for source in self.sources if source.session_id == session_id), None)


def _reduce(shared: SharedState, event: Event) -> SharedState:
    match event.payload:
        case ShareSync(session_id=id) as source:
            before = shared.of(id)
            if before is None:
                return msgspec.structs.replace(shared, sources=(*shared.sources, source))
            sources = tuple(source if each is before else each for each in shared.sources)
            return msgspec.structs.replace(shared, sources=sources)
        case ShareReport(text=text):
            reports = add_item(shared.reports, "r", ParentReport("", mark_of(event), text))
            return msgspec.structs.replace(shared, reports=reports)
    return shared


def _shown(shared: SharedState) -> Iterator[ShownItem]:
    for source in shared.sources:
        who = "the parent" if source.relation == "parent" else f"subagent {shorten(source.name, 40)}".rstrip()
        for piece in source.pieces:
            derived = " (derived)" if piece.derived else ""
            key = f"{source.session_id} {piece.kind} {piece.text}"
            lead = f"{who}, {_VERBS[piece.kind]}: "
            priority = _PRIORITIES.get(piece.kind)
            yield ShownItem(key, f"{lead}{piece.text}", label=derived, priority=priority, lead=lead)


def _rows(shared: SharedState) -> tuple[KeyedRow, ...]:
    return tuple(KeyedRow(item.key, item.text + item.label) for item in _shown(shared))


LOGIC = SectionLogic(handles=(ShareSync, ShareReport), reduce=_reduce, items=_shown, rows=_rows)
