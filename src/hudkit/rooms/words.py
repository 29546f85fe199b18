"""How much an agent may say in a room now, and how long ago it last did (003). Pure."""

from __future__ import annotations

from hudkit.rooms.world import World

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def words_of(text: str) -> int:
    """The words of a message."""
    return len(text.split())


def paced(world: World, agent: int, room: int, now: int) -> int:
    """Words that an agent's own pace allows: elapsed time x words a minute, within the world's bounds; the first
    message in a room has its own. `now` is Unix ms."""
    rules = world.rules.words
    spoke = world.agents[agent].spoke.get(room)
    if spoke is None:
        return rules.first
    return max(rules.least, min(rules.most, (now - spoke) * world.rooms[room].wpm // MINUTE))


def wait(world: World, agent: int, room: int, words: int, now: int) -> int:
    """Seconds until an agent's own pace allows so many words; 0 where it never will, or does."""
    spoke = world.agents[agent].spoke.get(room)
    if spoke is None or words > world.rules.words.most:
        return 0
    wpm = world.rooms[room].wpm
    return max(0, (words * MINUTE - (now - spoke) * wpm) // (wpm * 1000) + 1)


def left(world: World, room: int, now: int) -> int:
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


def budget(world: World, agent: int, room: int, now: int) -> int:
    """Words that an agent may say in a room now: its own pace, and what the room can still hear."""
    return min(paced(world, agent, room, now), left(world, room, now))


def time_since_last(world: World, agent: int, room: int, now: int) -> str:
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
