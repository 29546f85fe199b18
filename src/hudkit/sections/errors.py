"""Errors: what failed and is not known to work again; a repetition is counted, not listed twice."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from hudkit.log.event import Event, Origin
from hudkit.log.payloads import ErrorEncountered, ErrorResolved, SectionClear
from hudkit.sections.items import ItemList, SectionItem, add_item, change_item, clear_items, mark_of
from hudkit.sections.section import KeyedRow, SectionLogic, ShownItem, origin_label, shorten_failure

MAX_RESOLVED = 20
"""Resolved errors beyond these leave the state, oldest first; the log keeps them."""


_MAX_ROW = 120
"""Characters of an error that are told when it is met."""

_NUMBERS = re.compile(r"\d+")


class RecordedError(SectionItem, frozen=True, omit_defaults=True):
    """`times` counts how often it was met since it was last resolved; `key` groups the repetitions, `by_call` is the
    last call whose output tells it."""

    message: str = ""
    key: str = ""
    by_call: str = ""
    resolved: bool = False
    resolved_at: int = 0
    times: int = 1

    @property
    def words(self) -> str:
        """Return what the error is known by; a resolved one has its id in it, so that the same may be met again."""
        return f"{self.key or self.message}\0{self.id if self.resolved else ''}"


class ErrorsState(ItemList[RecordedError], frozen=True, omit_defaults=True):
    """Open errors and the last resolved ones, in the order in which they were first met."""

    @property
    def open(self) -> tuple[RecordedError, ...]:
        """Return the errors that are not resolved."""
        return tuple(item for item in self.items if not item.resolved)


def _reduce(errors: ErrorsState, event: Event) -> ErrorsState:
    match event.payload:
        case ErrorEncountered(message=message, id=id, key=key, by_call=call):
            for error in errors.open:
                if (key and error.key == key) or (not key and error.message == message):
                    times = error.times + 1
                    return change_item(errors, error.id, event, message=message, by_call=call, times=times)
            return add_item(errors, "e", RecordedError(id, mark_of(event), message, key, call))
        case ErrorResolved(id=id, key=key):
            for error in errors.open:
                if (id and error.id == id) or (key and error.key == key):
                    errors = change_item(errors, error.id, event, resolved=True, resolved_at=event.timestamp)
            return _forget_resolved(errors)
        case SectionClear(section="errors" | ""):
            return clear_items(errors)
    return errors


def _forget_resolved(errors: ErrorsState) -> ErrorsState:
    surplus = len(errors) - len(errors.open) - MAX_RESOLVED
    if surplus <= 0:
        return errors
    remaining = []
    for item in errors.items:
        if item.resolved and surplus > 0:
            surplus -= 1
        else:
            remaining.append(item)
    return msgspec.structs.replace(errors, items=tuple(remaining))


def _label(error: RecordedError) -> str:
    times = f" (×{error.times})" if error.times > 1 else ""
    return times + origin_label(error.mark.origin)


def _items(errors: ErrorsState) -> Iterator[ShownItem]:
    for error in errors.open:
        # What failed stands at the beginning, what went wrong at the end.
        yield ShownItem(error.id, error.message, label=_label(error), keep_end=True)


def _rows(errors: ErrorsState) -> tuple[KeyedRow, ...]:
    # Without the count: a repetition alone is not worth a line of a delta.
    return tuple(
        KeyedRow(
            error.id,
            shorten_failure(error.message, _MAX_ROW) + origin_label(error.mark.origin),
            keep_end=True,
            gist=_gist(error),
        )
        for error in errors.open
    )


def _gist(error: RecordedError) -> str:
    """What of an error is news. The output of a tool that fails again with other numbers alone (a line, a time, a
    count) stands in the transcript and in the next base; empty where every character counts."""
    return _NUMBERS.sub("0", error.message) if error.mark.origin is Origin.TOOL else ""


LOGIC = SectionLogic(
    handles=(ErrorEncountered, ErrorResolved, SectionClear),
    reduce=_reduce,
    items=_items,
    rows=_rows,
)
