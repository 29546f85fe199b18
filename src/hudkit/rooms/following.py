"""Folding what a log says, where events may be gone or damaged; and what a fork takes from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from hudkit.errors import StoreDamaged
from hudkit.log import Draft, Event, Finding
from hudkit.rooms.events import Happening, WorldMade
from hudkit.rooms.folding import apply
from hudkit.rooms.world import World

PAGE = 1000
"""Events of one append when a log is copied."""


def follow(world: World, event: Event, what: Happening, *, holes: bool, seq: int | None = None) -> bool:
    """Fold an event of a log in, as the `seq`-th where it is not its own number; whether it was.

    With `holes`, events before it are gone, and one that rests on them is passed over. Without, it raises
    `StoreDamaged`.
    """
    try:
        apply(world, event.seq if seq is None else seq, event.timestamp, what)
        return True
    except (LookupError, ValueError, TypeError) as error:
        if holes:
            return False
        raise StoreDamaged(
            f"event {event.seq} of the world does not follow from those before it: {type(error).__name__}: {error}",
            hint="`hudkit verify` says whether the log is whole",
            finding=Finding("type", event.session_id, event.seq, f"event {event.seq}: it cannot be folded"),
        ) from error


def inherited(past: Iterable[tuple[Event, Happening]], name: str, end: int, new: str = "") -> Iterator[list[Draft]]:
    """The past of a fork, in pages: what happened up to event `end` of the world of that name, without what rests on
    events that are gone. `new`: the fork's own name."""
    world, page = World(), list[Draft]()
    for event, what in past:
        if isinstance(what, WorldMade):
            what = msgspec.structs.replace(what, name=new or what.name, forked_from=name, forked_at=end)
        if follow(world, event, what, holes=True, seq=world.seq + 1):
            page.append(Draft(event.id, event.timestamp, event.turn, event.origin, what))
        if len(page) == PAGE:
            yield page
            page = []
    yield page
