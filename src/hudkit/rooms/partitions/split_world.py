"""Founding a world in partitions: who lives where, and what of the founding each partition's log begins with.

Agents that share a room should live together, for what they say to each other is then no relay. So agents are put in
a line in which those who are connected by rooms stand side by side, and the line is cut into equal parts; a group
that would be cut only at its end goes whole to the part that has more of it. A hall that all are in is cut all the
same: it is mirrored in every partition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from hudkit.errors import ConfigError
from hudkit.log import Batch, Event, EventDraft
from hudkit.rooms import world_events as e
from hudkit.rooms.world import World

_SLACK = 0.15
"""By how much a partition may be larger than its share, so that a group stays whole."""
MAX_PARTITIONS = 64
"""Partitions that a world may have: each one's inbox is written by all others."""


def partition_session(number: int) -> str:
    """Return the session of a partition's events; that of number 0 is the whole world's."""
    return f"world.{number}" if number else "world"


def inbox_session(number: int) -> str:
    """Return the session of what other partitions send to one."""
    return f"world.{number}.inbox"


def check_partitions(number: int, agents: int) -> int:
    """Return a number of partitions that a world of so many agents can have. Raises `ConfigError` for another one."""
    most = min(MAX_PARTITIONS, agents)
    if not 2 <= number <= most:
        raise ConfigError(f"{number} partitions for {agents} agents", hint=f"2 to {most}")
    return number


def assign_homes(world: World, partitions: int) -> dict[int, int]:
    """Return the partition of each agent, by its number."""
    homes: dict[int, int] = {}
    number, room_left = 1, _share(len(world.agents), partitions, 1)
    for group in _groups(world):
        # A group begins a new partition where it would be cut near its beginning.
        if room_left < len(group) and room_left <= _SLACK * len(world.agents) / partitions and number < partitions:
            number, room_left = number + 1, _share(len(world.agents), partitions, number + 1) + room_left
        rest = len(group)
        for id in group:
            ends_soon = rest <= _SLACK * len(world.agents) / partitions
            if room_left <= 0 and number < partitions and not ends_soon:
                number, room_left = number + 1, room_left + _share(len(world.agents), partitions, number + 1)
            homes[id] = number
            room_left, rest = room_left - 1, rest - 1
    return homes


def _share(agents: int, partitions: int, number: int) -> int:
    return agents * number // partitions - agents * (number - 1) // partitions


def _groups(world: World) -> Iterator[list[int]]:
    """Yield the agents that are connected by rooms, group by group."""
    seen: set[int] = set()
    for first in world.agents:
        if first in seen:
            continue
        group, todo = list[int](), [first]
        seen.add(first)
        while todo:
            id = todo.pop()
            group.append(id)
            for room in world.agents[id].rooms:
                new = [other for other in (room, *world.rooms[room].members) if other > 0 and other not in seen]
                seen.update(new)
                todo += new
        yield sorted(group)


def split_founding(history: Sequence[tuple[Event, e.WorldEvent]], world: World, partitions: int) -> list[Batch]:
    """Return the beginnings of all logs of a world: the whole founding in the Architect's, and of it in each
    partition's what concerns its agents.

    `history` are the events of `world`, which is whole. Raises `ConfigError` for a number of partitions that cannot
    be.
    """
    check_partitions(partitions, len(world.agents))
    homes = assign_homes(world, partitions)
    whole = [_draft(entry, _with_home(event, homes, partitions)) for entry, event in history]
    batches = [Batch(partition_session(0), tuple(whole), 0)]
    for number in range(1, partitions + 1):
        drafts = _partition_drafts(history, world, homes, number, partitions)
        batches.append(Batch(partition_session(number), tuple(drafts), 0))
    return batches


def _with_home(event: e.WorldEvent, homes: dict[int, int], partitions: int, partition: int = 0) -> e.WorldEvent:
    if isinstance(event, e.WorldCreated):
        return msgspec.structs.replace(event, partitions=partitions, partition=partition)
    if isinstance(event, e.AgentCreated):
        return msgspec.structs.replace(event, home=homes[event.id])
    return event


def _partition_drafts(
    history: Sequence[tuple[Event, e.WorldEvent]], world: World, homes: dict[int, int], number: int, partitions: int
) -> list[EventDraft]:
    rooms = {room for id, home in homes.items() if home == number for room in (id, *world.agents[id].rooms)}
    agents = {id for room in rooms for id in (room, *world.rooms[room].members)}
    copies: list[tuple[Event, e.WorldEvent]] = []
    numbers: dict[int, int] = {}
    for entry, event in history:
        copy = _copy(event, homes, number, rooms, agents, numbers)
        if copy is not None:
            copies.append((entry, copy))
    entry, created = history[0]
    assert isinstance(created, e.WorldCreated)
    received = e.EventReceived(0, 0, len(history), len(copies), tuple(numbers))
    begin = [(entry, _with_home(created, homes, partitions, number)), (entry, received)]
    return [_draft(entry, event) for entry, event in (*begin, *copies)]


def _copy(
    event: e.WorldEvent,
    homes: dict[int, int],
    number: int,
    rooms: set[int],
    agents: set[int],
    numbers: dict[int, int],
) -> e.WorldEvent | None:
    """Return a founding event as a partition begins with it; `None` where it does not concern it.

    `numbers` are the messages that it has, by their numbers in the whole.
    """
    match event:
        case e.WorldCreated():
            return None
        case e.AgentCreated(id=id):
            if id not in agents:
                return None
            background = event.background if homes[id] == number else ""
            return msgspec.structs.replace(event, home=homes[id], background=background)
        case e.MessagePosted(room=room):
            if room not in rooms:
                return None
            numbers[event.id] = len(numbers) + 1
            return msgspec.structs.replace(
                event, id=numbers[event.id], reply_to=numbers.get(event.reply_to, 0), pending=0
            )
        case e.RoomJoined(room=room) | e.RoomLeft(room=room) | e.BillboardSet(room=room) | e.WpmSet(room=room):
            return event if room in rooms else None
        case e.KnowledgeSet(agent=id) | e.AttentionSet(agent=id):
            return event if homes[id] == number else None
        case e.KeyCreated(room=room):
            return event if homes[room] == number else None
        case e.AgentWoken(id=id) | e.IntervalSet(id=id):
            return event if homes[id] == number else None
        case e.AgentAltered(id=id):
            return event if id in agents else None
        case e.WorldPaused() | e.WorldResumed() | e.SpeedSet() | e.RulesChanged() | e.PromptsChanged():
            return event
        case _:
            raise ConfigError(
                f"a world in which {type(event).__name__} has happened cannot be founded in partitions",
                hint="Found a new one, with --partitions",
            )


def _draft(entry: Event, event: Any) -> EventDraft:
    return EventDraft(entry.id, entry.timestamp, 0, entry.origin, event)
