"""Loops: two agents who alone speak in a room, and repeat themselves to each other, are slowed down."""

from __future__ import annotations

import re

from hudkit.rooms import world_events as e
from hudkit.rooms.world import AgentState, RoomMessage, World
from hudkit.rooms.world_log import Transaction

_SECOND = 1000
_LOOP_WINDOW = 12
"""Messages of a room that are looked at."""
_LOOP_STALE_MESSAGES = 8
"""Of them, those with nothing new in them that make a loop."""
_NEW_WORDS_SHARE = 0.3
"""The share of words not said before, within the window, from which on a message says something new."""

_WORD = re.compile(r"\w+")
_NUMBERS = re.compile(r"\d+")


def throttle_loops(transaction: Transaction, agent: AgentState, first_message: int, now: int) -> None:
    """Slow down two agents who repeat themselves to each other in a room where `agent` has just spoken.

    `first_message` is the number of the first message of its reply. An agent that was throttled lately is not told
    again.
    """
    world = transaction.world
    seconds = world.rules.tempo.looping
    if not seconds:
        return
    posted = [world.messages[id] for id in range(first_message, world.next_message)]
    for room in dict.fromkeys(message.room for message in posted if message.sender == agent.id):
        pair = _looping_pair(world, room)
        if pair is None:
            continue
        until = now + round(_SECOND * seconds)
        for id, other in (pair, pair[::-1]):
            throttled = world.agents[id]
            if throttled.throttled_until < now - 2 * _SECOND * seconds:
                why = (
                    f"You and agent {other} repeat yourselves in room {room}: you have fewer beats until you do not."
                )
                transaction.append(e.ActionRefused(id, throttled.beats, {}, why), timestamp=now)
            transaction.append(e.AgentThrottled(id, other, room, until), timestamp=now)


def _looping_pair(world: World, room: int) -> tuple[int, int] | None:
    """Return the two agents who alone speak in a room, in turns, and repeat themselves; `None` where nobody does."""
    ids = world.rooms[room].messages
    # Most rooms are ruled out by two look-ups: this is asked after every message.
    if len(ids) < _LOOP_WINDOW or world.messages[ids[-1]].sender != world.messages[ids[-3]].sender:
        return None
    window = [world.messages[id] for id in ids[-_LOOP_WINDOW:]]
    texts = [message for message in window if message.kind == "text"]
    if len(texts) < _LOOP_WINDOW:
        return None
    first, second = texts[0].sender, texts[1].sender
    if first == second or min(first, second) < 1:
        return None
    if any(message.sender != (first, second)[index % 2] for index, message in enumerate(texts)):
        return None
    return (first, second) if _count_stale(texts) >= _LOOP_STALE_MESSAGES else None


def _count_stale(messages: list[RoomMessage]) -> int:
    """Return how many messages say hardly a word that was not in those before them.

    Numbers are no news: "I counted 41", "I counted 42" is a loop, too.
    """
    heard: set[str] = set()
    stale = 0
    for message in messages:
        words = set(_WORD.findall(_NUMBERS.sub("", message.content.casefold())))
        stale += len(words - heard) < _NEW_WORDS_SHARE * max(1, len(words))
        heard |= words
    return stale
