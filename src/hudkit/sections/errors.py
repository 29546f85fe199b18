"""Errors: what failed and is not known to work again; a repetition is counted, not listed twice."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import ErrorEncountered, ErrorResolved, SectionClear
from hudkit.sections.items import Item, Items, add, change, cleared, mark


class Failure(Item, frozen=True, omit_defaults=True):
    """`times` counts how often it was met since it was last resolved; `key` groups the repetitions, `by_call` is the
    last one whose output tells it."""

    message: str = ""
    key: str = ""
    by_call: str = ""
    resolved: bool = False
    resolved_at: int = 0
    times: int = 1

    @property
    def words(self) -> str:
        return f"{self.key or self.message}\0{self.id if self.resolved else ''}"


class Errors(Items[Failure], frozen=True, omit_defaults=True):
    """Open errors and the last resolved ones, in the order in which they were first met."""

    @property
    def open(self) -> tuple[Failure, ...]:
        """The errors that are not resolved."""
        return tuple(item for item in self.items if not item.resolved)


RESOLVED_KEPT = 20
"""Resolved errors beyond these leave the projection, oldest first; the log keeps them."""

HANDLES = (ErrorEncountered, ErrorResolved, SectionClear)


def reduce(errors: Errors, event: Event) -> Errors:
    match event.payload:
        case ErrorEncountered(message=message, id=id, key=key, by_call=call):
            for known in errors.open:
                if (key and known.key == key) or (not key and known.message == message):
                    return change(errors, known.id, event, message=message, by_call=call, times=known.times + 1)
            return add(errors, "e", Failure(id, mark(event), message, key, call))
        case ErrorResolved(id=id, key=key):
            for known in errors.open:
                if (id and known.id == id) or (key and known.key == key):
                    errors = change(errors, known.id, event, resolved=True, resolved_at=event.timestamp)
            return _forget(errors)
        case SectionClear(section="errors" | ""):
            return cleared(errors)
    return errors


def _forget(errors: Errors) -> Errors:
    over = len(errors) - len(errors.open) - RESOLVED_KEPT
    if over <= 0:
        return errors
    kept = []
    for item in errors.items:
        if item.resolved and over > 0:
            over -= 1
        else:
            kept.append(item)
    return msgspec.structs.replace(errors, items=tuple(kept))
