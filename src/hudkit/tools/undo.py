"""Undo: an event is taken back by another event; nothing leaves the log, and the undo can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from hudkit.compose import shorten
from hudkit.errors import OperationError
from hudkit.hud import SessionCore
from hudkit.log.event import Event, Origin
from hudkit.log.payloads import EventUndo, Payload, type_of
from hudkit.sections.state import HudState, undone_seqs, why_permanent
from hudkit.tools.lines import echo, stored
from hudkit.tools.operation import Answer, Arguments, Loose, operation
from hudkit.tools.past import back, content

FAR = 2_000
"""Events that are looked through for the last own change."""


class Undone(Arguments, frozen=True):
    seq: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="The number of the event, as `history` shows it; without it, your last change."),
    ] = None
    reason: Annotated[Loose, Meta(description="Why.")] = ""


@operation("undo", Undone, example={"seq": 12, "reason": "recorded in the wrong session"})
def undo(session: SessionCore, args: Undone, origin: Origin) -> Answer:
    """Take a recorded change back, as if it had never been made; the log keeps both. An undo can be undone, too.

    What a host did (compactions, frames, its todos) cannot be undone here.
    """
    chosen: list[Event] = []

    def decide(state: HudState) -> Sequence[Payload]:
        gone = undone_seqs(session.events())
        event = _last(session, origin, gone) if args.seq is None else _named(session, state, args.seq, gone)
        chosen[:] = [event]
        return (EventUndo(event.seq, stored(args.reason)),)

    events, _ = session.decide(decide, origin=origin)
    event = chosen[0]
    said = f" {echo(content(event))}" if content(event) else ""
    text = f"Undone: event {event.seq}, {event.type}{said}. To have it again: undo event {events[0].seq}."
    return Answer(text, {"seq": event.seq, "type": event.type, "by": events[0].seq, "recorded": True})


def _named(session: SessionCore, state: HudState, seq: int, gone: frozenset[int]) -> Event:
    event = next(session.events(seq - 1, seq), None) if seq <= state.seq else None
    if event is None:
        raise OperationError(
            f"there is no event {seq}", hint=f"There are events 1 to {state.seq}; history lists them."
        )
    if seq in gone:
        raise OperationError(
            f"event {seq} is undone already", hint="To have it again, undo the undo: history lists it."
        )
    why = why_permanent(event)
    if why:
        raise OperationError(f"event {seq} ({event.type}) cannot be undone: {why}", hint="history lists what can be.")
    return event


def _last(session: SessionCore, origin: Origin, gone: frozenset[int]) -> Event:
    for place, event in enumerate(back(session, None)):
        if place >= FAR:
            break
        own = event.origin == origin and event.payload is not None and type_of(event.payload) != "event.undo"
        if own and event.seq not in gone and not why_permanent(event):
            return event
    raise OperationError(
        f"there is no change of yours to undo ({shorten(str(origin), 20)})",
        hint="Name an event by its number: history lists them.",
    )
