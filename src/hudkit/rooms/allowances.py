"""What an agent may see and say: attention shared among its rooms, and the words that it may say in each (003). Pure.

Attention: every room of an agent has a fixed percent, or `%*`, an equal share of what the fixed ones leave. For
example, with rooms 1, 2, 3 and a fixed 40 % for room 2, the others get 30 % each.

Words: an agent that has not spoken in a room for a while may say more there, at the room's pace. For example, at 80
words a minute and 30 seconds after its last message it may say 30 × 80 / 60 = 40 words, within the world's bounds (10
to 200). Its first message in a room has a budget of its own. What exceeds the budget waits until the pace allows it:
60 words, 30 seconds after its last message, are sent after 15 more. While something of it waits in a room, it may say
nothing else there at once. Where a world limits what all agents together say in one room (`room_wpm`), an agent's
budget there is the smaller of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hudkit.errors import OperationError
from hudkit.rooms.world import PendingMessage, World

FULL_ATTENTION = 100.0
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%?")
_EQUAL_SHARE = ("%*", "*%", "*")

_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_UNLIMITED = 10**9
"""Words that a room still hears where nothing limits them."""


def attention_shares(attention: Mapping[int, float], rooms: Iterable[int]) -> dict[int, float]:
    """Return the percent of each room, in the order of `rooms`: 100 together, or less where all are fixed.

    Fixed ones that are over 100 together are scaled down to it, and leave nothing to the others.
    """
    ids = list(rooms)
    # Only rooms that the agent is in: a percent for a room that it left would be lost to all others.
    fixed = {room: attention[room] for room in ids if room in attention}
    total = sum(fixed.values())
    if total > FULL_ATTENTION:
        fixed = {room: percent * FULL_ATTENTION / total for room, percent in fixed.items()}
        total = FULL_ATTENTION
    free = len(ids) - len(fixed)
    each = (FULL_ATTENTION - total) / free if free else 0.0
    return {room: fixed.get(room, each) for room in ids}


def parse_share(value: object) -> float | None:
    """Return the attention that an agent wrote: 0 to 100 for `30`, `30.5` or `"30%"`, and `None` for `"%*"`.

    Raises `OperationError` for anything else.
    """
    if isinstance(value, str):
        text = value.strip()
        if text in _EQUAL_SHARE:
            return None
        if match := _PERCENT.fullmatch(text):
            value = float(match[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= FULL_ATTENTION:
        return float(value)
    raise OperationError(
        f"{str(value)[:40]!r} is no share of attention",
        hint='Say a percent such as "30%", or "%*" for an equal share',
    )


def check_share(attention: Mapping[int, float], room: int, percent: float | None) -> None:
    """Raise `OperationError` where `room` cannot have this percent, because all would have more than 100 then."""
    others = sum(share for id, share in attention.items() if id != room)
    # The tolerance is for sums such as 33.3 + 33.3 + 33.4, which binary fractions put a hair above 100.
    if percent is not None and others + percent > FULL_ATTENTION + 1e-9:
        raise OperationError(
            f"{percent:g}% for room {room} would make {others + percent:g}% in all",
            hint=f"{FULL_ATTENTION - others:g}% are left: say less, lower another room first, or say %*",
        )


def word_budget(world: World, agent: int, room: int, now: int) -> int:
    """Return the words that an agent may say in a room at once, at `now` (Unix ms).

    That is what its own pace allows, and what the room still hears; nothing while a message of it waits there.
    """
    if pending_in(world, agent, room):
        return 0
    return min(_paced_words(world, agent, room, now), room_words_left(world, room, now))


def pending_in(world: World, agent: int, room: int) -> list[PendingMessage]:
    """Return the messages of an agent that wait for its pace in a room, in the order in which they are due."""
    waiting = world.agents[agent].pending
    if not waiting:  # nearly always
        return []
    pending = map(world.pending.__getitem__, waiting)
    return [message for message in pending if message.room == room]


def due_at_pace(world: World, agent: int, room: int, words: int, spent: int, spoke_at: int | None, now: int) -> int:
    """Return when (Unix ms) the pace allows `words` more in a room, behind `spent` that this reply said there.

    `spoke_at` is when the agent spoke there before this reply. Behind what waits there already, the words of this
    message alone count.
    """
    wpm = world.rooms[room].wpm
    if pending := pending_in(world, agent, room):
        start, owed = pending[-1].due, words
    elif spoke_at is None:
        start, owed = now, max(0, spent + words - world.rules.words.first)
    else:
        # Silence earns no more than the most that may be said at once.
        start, owed = max(spoke_at, now - world.rules.words.max_words * _MINUTE // wpm), spent + words
    return max(now, start + -(-owed * _MINUTE // wpm))


def may_speak(world: World, agent: int, room: int, now: int) -> bool:
    """Return whether an agent may say anything in a room at once."""
    return word_budget(world, agent, room, now) > 0


def seconds_until_allowed(world: World, agent: int, room: int, words: int, now: int) -> int:
    """Return the seconds until an agent's own pace allows so many words; 0 where it already does, or never will."""
    spoke_at = world.agents[agent].spoke_at.get(room)
    # More words than the world ever allows cannot be waited for: the hint must not promise it.
    if spoke_at is None or words > world.rules.words.max_words:
        return 0
    wpm = world.rooms[room].wpm
    return max(0, (words * _MINUTE - (now - spoke_at) * wpm) // (wpm * 1000) + 1)


def room_words_left(world: World, room: int, now: int) -> int:
    """Return the words that all agents together may still say in a room within this minute."""
    since, spoken = now - _MINUTE, 0
    limit = world.rules.words.room_wpm
    if not limit:
        return _UNLIMITED
    # From the newest back: only a minute's messages are looked at, however old the room is.
    for message in map(world.messages.__getitem__, reversed(world.rooms[room].messages)):
        if message.posted_at <= since:
            break
        if message.sender > 0:
            spoken += message.words
            if spoken >= limit:
                return 0
    return limit - spoken


def describe_last_spoke(world: World, agent: int, room: int, now: int) -> str:
    """Return how long ago an agent last spoke in a room, as people say it: `2 minutes`."""
    spoke_at = world.agents[agent].spoke_at.get(room)
    if spoke_at is None:
        return "never (just joined)"
    elapsed = max(0, now - spoke_at)
    if elapsed < _MINUTE:
        return _counted(elapsed // 1000, "second")
    if elapsed < _HOUR:
        return _counted(elapsed // _MINUTE, "minute")
    unit, name = (_HOUR, "hour") if elapsed < 2 * _DAY else (_DAY, "day")
    # In whole numbers, so that replay on another machine writes the same digit.
    tenths = elapsed * 10 // unit
    return _counted(tenths // 10 if tenths % 10 == 0 else tenths / 10, name)


def _paced_words(world: World, agent: int, room: int, now: int) -> int:
    """Return the words that an agent's own pace allows: elapsed time x words a minute, within the world's bounds."""
    rules = world.rules.words
    spoke_at = world.agents[agent].spoke_at.get(room)
    if spoke_at is None:
        return rules.first
    return max(rules.min_words, min(rules.max_words, (now - spoke_at) * world.rooms[room].wpm // _MINUTE))


def _counted(number: float, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
