"""Writing: what an operation decides on the state is appended whole, and nothing where it would change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from hudkit.hud import SessionCore
from hudkit.log import Event, Origin, Payload, type_of
from hudkit.log.codec import seal
from hudkit.sections.items import ItemList, SectionItem
from hudkit.sections.state import STATE_FIELDS, HudState, fold
from hudkit.tools.lines import called, echo
from hudkit.tools.operation import Answer

REPLACED = " What looked like a secret was replaced."


class Change(msgspec.Struct, frozen=True):
    """What became of a decision: `events` is empty where nothing had to change; `after` is `before` then."""

    events: tuple[Event, ...]
    before: HudState
    after: HudState
    payloads: tuple[Payload, ...]
    note: str = ""  # what the agent must be told beside

    def __bool__(self) -> bool:
        return bool(self.events)


def peek(state: HudState, *payloads: Payload) -> HudState:
    """The state as these payloads would make it, ids included."""
    return fold(
        (
            Event("", state.seq + n, state.session_id, state.turn, state.time, type_of(it), it.V, Origin.AGENT, it)
            for n, it in enumerate(payloads, 1)
        ),
        state,
    )


def record(session: SessionCore, origin: Origin, decide: Callable[[HudState], Sequence[Payload]]) -> Change:
    """Append what `decide` makes of the state, all or none, with no other writer's event between.

    `decide` may raise `OperationError`: then nothing is appended. Raises a `StoreError`.
    """
    payloads: tuple[Payload, ...] = ()
    after = HudState()
    note = ""

    def decision(state: HudState) -> tuple[Payload, ...]:
        nonlocal payloads, after, note
        asked = tuple(decide(state))
        payloads = tuple(seal(payload).payload for payload in asked)
        note = "" if all(map(_same, asked, payloads)) else REPLACED
        after = peek(state, *payloads)
        return payloads if _differs(state, after) else ()

    events, before = session.decide(decision, origin=origin)
    return Change(events, before, after if events else before, payloads, note)


def added(session: SessionCore, origin: Origin, section: str, noun: str, payload: Payload) -> Answer:
    """Add an item to a section; a text that is there already is not added again.

    The answer's `data` has `id` and `recorded`.
    """
    change = record(session, origin, lambda _: (payload,))
    words = next(value for value in msgspec.structs.astuple(change.payloads[0]) if value)
    item = found(change.after, section, str(words))
    text = f"Added {noun} {item.id}: {echo(item.words)}." if change else f"Already there: {noun} {item.id}."
    return Answer(text + change.note, {"id": item.id, "recorded": bool(change)})


def removed(
    session: SessionCore,
    origin: Origin,
    noun: str,
    pick: Callable[[HudState], SectionItem],
    payload: Callable[[str], Payload],
    text: Callable[[SectionItem], str] = lambda item: item.words,
    *,
    verb: str = "Removed",
) -> Answer:
    """Remove the item that `pick` finds. The answer's `data` has `id` and `recorded`."""
    gone: list[SectionItem] = []

    def decide(state: HudState) -> tuple[Payload, ...]:
        gone[:] = [pick(state)]
        return (payload(gone[0].id),)

    change = record(session, origin, decide)
    item = gone[0]
    words = text(item)
    said = f": {echo(words)}" if words != item.id else ""
    return Answer(f"{verb} {noun} {called(item.id)}{said}.", {"id": item.id, "recorded": bool(change)})


def found(state: HudState, section: str, words: str) -> SectionItem:
    """The item of a section that has this text."""
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
