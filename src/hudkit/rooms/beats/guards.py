"""What keeps a world from running on for nothing: pairs that go round in circles, and reasons to stop. Pure."""

from __future__ import annotations

import re

from hudkit.rooms.world import Message, World

WINDOW = 12
"""Messages of a room that are looked at."""
STALE = 8
"""Of them, those with nothing new in them that make a loop."""
NEW = 0.3
"""The share of words not said before, within the window, from which on a message says something new."""

_WORD = re.compile(r"\w+")
_NUMBERS = re.compile(r"\d+")


def looping(world: World, room: int) -> tuple[int, int] | None:
    """The two agents who alone speak in a room, in turns, and repeat themselves; `None` where nobody does."""
    ids = world.rooms[room].messages
    if len(ids) < WINDOW or world.messages[ids[-1]].sender != world.messages[ids[-3]].sender:
        return None
    last = [world.messages[id] for id in ids[-WINDOW:]]
    said = [message for message in last if message.kind == "text"]
    if len(said) < WINDOW:
        return None
    one, other = said[0].sender, said[1].sender
    if one == other or min(one, other) < 1:
        return None
    if any(message.sender != (one, other)[n % 2] for n, message in enumerate(said)):
        return None
    return (one, other) if _stale(said) >= STALE else None


def _stale(said: list[Message]) -> int:
    """How many messages say hardly a word that was not in those before them. Numbers are no news: they count up."""
    known: set[str] = set()
    stale = 0
    for message in said:
        words = set(_WORD.findall(_NUMBERS.sub("", message.content.casefold())))
        stale += len(words - known) < NEW * max(1, len(words))
        known |= words
    return stale


def reason_to_stop(world: World, now: int, news: int, alone: int) -> str | None:
    """Why a world should pause by itself; `None` where it should not. `news`: when something last happened in it
    (Unix ms); `alone`: beats since the Architect last did something."""
    caps = world.rules.caps
    if caps.cost and world.cost >= caps.cost:
        return f"cost: ${world.cost:.2f} of ${caps.cost:.2f}"
    if caps.idle_seconds and now - news >= caps.idle_seconds * 1000:
        return f"idle: nothing new for {caps.idle_seconds:g} s"
    if caps.beats_without_people and alone >= caps.beats_without_people:
        return f"alone: {alone} beats without the Architect"
    return None
