"""Writing: what an operation decides on the state is appended whole, and nothing where it would change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.hud import SessionCore
from hudkit.log import Event, Origin, Payload
from hudkit.log.codec import encode_payload
from hudkit.sections.items import ItemList, SectionItem
from hudkit.sections.state import STATE_FIELDS, HudState, state_after
from hudkit.tools.answer_text import id_text, quote
from hudkit.tools.operation import OperationResult

_SECRET_NOTE = " What looked like a secret was replaced."


class RecordedChange(msgspec.Struct, frozen=True):
    """What became of a decision: `events` is empty where nothing had to change; `after` is `before` then."""

    events: tuple[Event, ...]
    before: HudState
    after: HudState
    payloads: tuple[Payload, ...]
    note: str = ""  # what the agent must be told beside

    def __bool__(self) -> bool:
        return bool(self.events)


def record(session: SessionCore, origin: Origin, decide: Callable[[HudState], Sequence[Payload]]) -> RecordedChange:
    """Append what `decide` makes of the state, all or none, and return what became of it.

    No other writer's event comes between the state and the append.

    `decide` may raise `OperationError`: then nothing is appended. Raises a `StoreError`.
    """
    payloads: tuple[Payload, ...] = ()
    after = HudState()
    note = ""

    def decision(state: HudState) -> tuple[Payload, ...]:
        nonlocal payloads, after, note
        asked = tuple(decide(state))
        # Sealed first: what is compared and answered is what will be stored, without secrets.
        payloads = tuple(encode_payload(payload).payload for payload in asked)
        note = "" if all(map(_same, asked, payloads)) else _SECRET_NOTE
        # An operation that would change nothing leaves no event.
        after = state_after(state, *payloads)
        return payloads if _differs(state, after) else ()

    events, before = session.decide(decision, origin=origin)
    return RecordedChange(events, before, after if events else before, payloads, note)


def add_to_section(
    session: SessionCore, origin: Origin, section: str, noun: str, payload: Payload
) -> OperationResult:
    """Add an item to a section and return the answer; a text that is there already is not added again.

    The answer's `data` has `id` and `recorded`.
    """
    change = record(session, origin, lambda _: (payload,))
    words = next(value for value in msgspec.structs.astuple(change.payloads[0]) if value)
    item = item_with_text(change.after, section, str(words))
    text = f"Added {noun} {item.id}: {quote(item.words)}." if change else f"Already there: {noun} {item.id}."
    return OperationResult(text + change.note, {"id": item.id, "recorded": bool(change)})


def remove_from_section(
    session: SessionCore,
    origin: Origin,
    noun: str,
    pick: Callable[[HudState], SectionItem],
    payload: Callable[[str], Payload],
    text: Callable[[SectionItem], str] = lambda item: item.words,
    *,
    verb: str = "Removed",
) -> OperationResult:
    """Remove the item that `pick` finds, and return the answer; its `data` has `id` and `recorded`."""
    gone: list[SectionItem] = []

    def decide(state: HudState) -> tuple[Payload, ...]:
        gone[:] = [pick(state)]
        return (payload(gone[0].id),)

    change = record(session, origin, decide)
    item = gone[0]
    words = text(item)
    quoted = f": {quote(words)}" if words != item.id else ""
    return OperationResult(f"{verb} {noun} {id_text(item.id)}{quoted}.", {"id": item.id, "recorded": bool(change)})


def item_with_text(state: HudState, section: str, words: str) -> SectionItem:
    """Return the item of a section that has this text; it was just recorded."""
    items: ItemList[SectionItem] = getattr(state, section)
    item = items.find(words)
    assert item is not None, f"{section} has no item for what was just recorded"
    return item


def _same(asked: Payload, sealed: Payload) -> bool:
    return asked is sealed or asked == sealed


def _differs(before: HudState, after: HudState) -> bool:
    return any(
        getattr(before, name) is not getattr(after, name) and getattr(before, name) != getattr(after, name)
        for name in STATE_FIELDS
    )
