"""How an agent's attention is shared among its rooms: fixed percents, and `%*`, an equal share of what is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hudkit.errors import OperationError
from hudkit.rooms.world import World

FULL_ATTENTION = 100.0
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%?")
_DYNAMIC = ("%*", "*%", "*")


def attention_shares(attention: Mapping[int, float], rooms: Iterable[int]) -> dict[int, float]:
    """Percent of each room, in the order of `rooms`: 100 together, or less where all are fixed.

    Fixed ones that are over 100 together are scaled down to it, and leave nothing to the others.
    """
    ids = list(rooms)
    fixed = {room: attention[room] for room in ids if room in attention}
    total = sum(fixed.values())
    if total > FULL_ATTENTION:
        fixed = {room: one * FULL_ATTENTION / total for room, one in fixed.items()}
        total = FULL_ATTENTION
    free = len(ids) - len(fixed)
    each = (FULL_ATTENTION - total) / free if free else 0.0
    return {room: fixed.get(room, each) for room in ids}


def parse_share(value: object) -> float | None:
    """What an agent wrote as its attention: 0 to 100, such as `30`, `30.5` or `"30%"`; `None` for `"%*"`.

    Raises `OperationError` for anything else.
    """
    if isinstance(value, str):
        text = value.strip()
        if text in _DYNAMIC:
            return None
        if found := _PERCENT.fullmatch(text):
            value = float(found[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= FULL_ATTENTION:
        return float(value)
    raise OperationError(
        f"{str(value)[:40]!r} is no share of attention",
        hint='Say a percent such as "30%", or "%*" for an equal share',
    )


def check_share(attention: Mapping[int, float], room: int, percent: float | None) -> None:
    """Raise `OperationError` where `room` cannot have this percent, because all would have more than 100 then."""
    others = sum(one for id, one in attention.items() if id != room)
    if percent is not None and others + percent > FULL_ATTENTION + 1e-9:
        raise OperationError(
            f"{percent:g}% for room {room} would make {others + percent:g}% in all",
            hint=f"{FULL_ATTENTION - others:g}% are left: say less, lower another room first, or say %*",
        )


MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def count_words(text: str) -> int:
    """The words of a message."""
    return len(text.split())


def paced_words(world: World, agent: int, room: int, now: int) -> int:
    """Words that an agent's own pace allows: elapsed time x words a minute, within the world's bounds; the first
    message in a room has its own. `now` is Unix ms."""
    rules = world.rules.words
    spoke = world.agents[agent].spoke.get(room)
    if spoke is None:
        return rules.first
    return max(rules.least, min(rules.most, (now - spoke) * world.rooms[room].wpm // MINUTE))


def seconds_until_allowed(world: World, agent: int, room: int, words: int, now: int) -> int:
    """Seconds until an agent's own pace allows so many words; 0 where it never will, or does."""
    spoke = world.agents[agent].spoke.get(room)
    if spoke is None or words > world.rules.words.most:
        return 0
    wpm = world.rooms[room].wpm
    return max(0, (words * MINUTE - (now - spoke) * wpm) // (wpm * 1000) + 1)


def room_words_left(world: World, room: int, now: int) -> int:
    """Words that all agents together may still say in a room within this minute."""
    since, said = now - MINUTE, 0
    most = world.rules.words.room_wpm
    for message in map(world.messages.__getitem__, reversed(world.rooms[room].messages)):
        if message.at <= since:
            break
        if message.sender > 0:
            said += message.words
            if said >= most:
                return 0
    return most - said


def word_budget(world: World, agent: int, room: int, now: int) -> int:
    """Words that an agent may say in a room now: its own pace, and what the room can still hear."""
    return min(paced_words(world, agent, room, now), room_words_left(world, room, now))


def describe_last_spoke(world: World, agent: int, room: int, now: int) -> str:
    """How long ago an agent last spoke in a room, as people say it: `2 minutes`."""
    spoke = world.agents[agent].spoke.get(room)
    if spoke is None:
        return "never (just joined)"
    elapsed = max(0, now - spoke)
    if elapsed < MINUTE:
        return _many(elapsed // 1000, "second")
    if elapsed < HOUR:
        return _many(elapsed // MINUTE, "minute")
    unit, name = (HOUR, "hour") if elapsed < 2 * DAY else (DAY, "day")
    tenths = elapsed * 10 // unit
    return _many(tenths // 10 if tenths % 10 == 0 else tenths / 10, name)


def _many(number: float, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
