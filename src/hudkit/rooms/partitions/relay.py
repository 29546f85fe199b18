"""What partitions of a world tell each other: which events concern whom, and what becomes of one that is received.

Every agent has its beats in one partition, its home, and a partition's log says all that its agents can see. A room
whose members live in several partitions is in the log of each of them, mirrored: what happens there is appended where
it happens, and in the same transaction an `EventRelayed` goes into the inbox of every other partition that has a
member there. Whoever plays that one appends `EventReceived` with the number of the entry and behind it what the event
comes to there, in one transaction. So the place in the inbox and its effects are durable together: each entry is
taken up once, whoever is killed when.

    partition 1: agent 3 says "hello" in room 8, where agents 3 and 8 are     message 17 of partition 1
    inbox of 2:  from 1, event 240: message 17 in room 8 by agent 3           in the same transaction
    partition 2: received entry 5; message 9 in room 8 by agent 3             agent 8 lives here, and has news

Each partition numbers the messages that it hears by itself, for an agent sees them in the order in which they came to
it. `World.heard` and `World.origins` translate; a relay names a message by the partition where it was said, and its
number there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from hudkit.rooms import world_events as e
from hudkit.rooms.world import AgentState, World

_OF_WHOLE_WORLD = (e.WorldPaused, e.WorldResumed, e.SpeedSet, e.RulesChanged, e.PromptsChanged)
_ON_ROOM = (e.MessagePosted, e.RoomJoined, e.RoomLeft, e.BillboardSet, e.WpmSet)
_ON_AGENT = (e.AgentWoken, e.AgentSlept, e.AgentThrottled, e.IntervalSet, e.BeatScheduled)
_ON_MEMORY = (e.KnowledgeSet, e.KnowledgeAppended, e.KnowledgeDeleted, e.AttentionSet)
_ON_KEYS = (e.KeyCreated, e.KeyRevoked)
_ON_REQUEST = (e.AccessGranted, e.AccessDenied)

ENDS_INTEREST = (e.RoomLeft, e.MessageWithdrawn, *_ON_REQUEST)
"""Events behind which it cannot be told any more whom they concern: that is asked before they are folded in."""


# -- where agents live ---------------------------------------------------------------------------------------------


def home_of(world: World, agent: AgentState) -> int:
    """Return the partition in which an agent has its beats."""
    return agent.home or world.partition


def free_agent_number(world: World) -> int:
    """Return the number of the next agent. Partitions give theirs without asking each other: each has every n-th."""
    if not world.partitions:
        return world.next_agent
    step = world.partitions + 1
    return world.next_agent + (world.partition - world.next_agent) % step


def emptiest_partition(world: World) -> int:
    """Return where an agent lives that is made now: here (0), or, where the Architect makes it, among the fewest."""
    if not world.partitions or world.partition:
        return 0
    living = Counter(agent.home for agent in world.agents.values() if not agent.retired)
    return min(range(1, world.partitions + 1), key=lambda number: living[number])


# -- what is sent --------------------------------------------------------------------------------------------------


def relay_targets(world: World, event: e.WorldEvent) -> set[int]:
    """Return the other partitions that an event concerns."""
    targets = _concerned(world, event)
    targets.discard(world.partition)
    targets.discard(0)  # the whole is read from all logs
    return targets


def _concerned(world: World, event: e.WorldEvent) -> set[int]:
    if isinstance(event, _ON_ROOM):
        return _room_homes(world, event.room)
    if isinstance(event, e.ReactionAdded):
        return _room_homes(world, world.messages[event.message].room)
    if isinstance(event, _ON_AGENT):
        return {home_of(world, world.agents[event.id])}
    if isinstance(event, _ON_MEMORY):
        return {home_of(world, world.agents[event.agent])}
    if isinstance(event, e.AgentAltered | e.AgentRetired):
        agent = world.agents[event.id]
        return {home_of(world, agent)}.union(*(_room_homes(world, room) for room in agent.rooms))
    if isinstance(event, e.AgentCreated):
        return {event.home}
    if isinstance(event, _ON_KEYS):
        return {home_of(world, world.agents[event.room])}
    if isinstance(event, e.MessageWithdrawn):
        return {home_of(world, world.agents[world.pending[event.id].sender])}
    if isinstance(event, _ON_REQUEST):
        return {home_of(world, world.agents[world.requests[event.id].room])}
    return set(range(1, world.partitions + 1)) if isinstance(event, _OF_WHOLE_WORLD) else set()


def _room_homes(world: World, room: int) -> set[int]:
    agents = world.agents
    homes = {agents[id].home for id in world.rooms[room].members if id in agents}
    homes.add(agents[room].home)
    return {home or world.partition for home in homes}


def make_relay(world: World, event: e.WorldEvent, target: int) -> e.EventRelayed:
    """Return what `target` is sent of an event that was just folded in."""
    introduced: list[e.WorldEvent] = []
    if isinstance(event, e.RoomJoined) and event.agent in world.agents:
        joiner = world.agents[event.agent]
        introduced.append(_introduction(world, joiner))
        members = [world.agents[id] for id in world.rooms[event.room].members if id in world.agents]
        # The first of its agents there: until now it had no need of this room.
        if home_of(world, joiner) == target and sum(home_of(world, agent) == target for agent in members) == 1:
            introduced += [_introduction(world, agent) for agent in members if agent is not joiner]
            introduced.append(_introduction(world, world.agents[event.room]))
            room = world.rooms[event.room]
            others = tuple(id for id in room.members if id != joiner.id)
            introduced.append(e.RoomMirrored(room.id, room.wpm, room.billboard, others))
    return e.EventRelayed(
        world.partition,
        world.seq,
        as_plain_data(event),
        _message_referred_to(world, event),
        tuple(as_plain_data(introduction) for introduction in introduced),
    )


def _message_referred_to(world: World, event: e.WorldEvent) -> tuple[int, int] | None:
    id = 0
    if isinstance(event, e.MessagePosted):
        id = event.reply_to
    elif isinstance(event, e.ReactionAdded):
        id = event.message
    return world.origins.get(id, (world.partition, id)) if id else None


def _introduction(world: World, agent: AgentState) -> e.AgentCreated:
    """Return an agent as those need it who only see it."""
    return e.AgentCreated(agent.id, agent.kind, agent.name, "", agent.model, home=home_of(world, agent))


def as_plain_data(event: e.WorldEvent) -> dict[str, Any]:
    """Return an event as plain data, with its tag."""
    data: dict[str, Any] = msgspec.to_builtins(event)
    return data


def from_plain_data(data: dict[str, Any]) -> e.WorldEvent:
    """Return the event in plain data."""
    return msgspec.convert(data, e.EVENT_TYPES[data["type"]])


# -- what is received ----------------------------------------------------------------------------------------------


def received_events(world: World, relay: e.EventRelayed) -> tuple[tuple[int, ...], list[e.WorldEvent]]:
    """Return what an entry of the inbox comes to here: numbers there of messages, and the events to append.

    What has nothing here to happen to (its agent is retired, its message was never heard) comes to nothing.
    """
    introduced = list(_introduced(world, relay))
    agents = {event.id for event in introduced if isinstance(event, e.AgentCreated)}
    rooms = {event.room for event in introduced if isinstance(event, e.RoomMirrored)} | agents
    event = _translated(world, relay, agents, rooms)
    if event is None:
        return (), introduced
    sent = from_plain_data(relay.event)
    ids = (sent.id,) if isinstance(sent, e.MessagePosted) else ()
    return ids, [*introduced, event]


def _introduced(world: World, relay: e.EventRelayed) -> Iterator[e.WorldEvent]:
    agents = set(world.agents)
    for data in relay.introduced:
        event = from_plain_data(data)
        if isinstance(event, e.AgentCreated):
            if event.id not in agents:
                agents.add(event.id)
                yield event
        elif isinstance(event, e.RoomMirrored):
            room = world.rooms.get(event.room)
            # Where an agent of ours is there already, all that happened there was heard.
            if room is None or not any(id in world.agents and not world.agents[id].home for id in room.members):
                yield event


def _translated(world: World, relay: e.EventRelayed, agents: set[int], rooms: set[int]) -> e.WorldEvent | None:
    """Return an event that was sent as it is here; `None` where there is nothing that it could happen to.

    `agents` and `rooms` come with it.
    """
    event = from_plain_data(relay.event)
    message = _local_message(world, relay.message)
    if isinstance(event, e.MessagePosted):
        if not _is_there(world.rooms, rooms, event.room) or not _may_speak(world, agents, event.sender):
            return None
        return msgspec.structs.replace(event, id=world.next_message, reply_to=message, pending=0)
    if isinstance(event, e.ReactionAdded):
        subject = world.messages.get(message)
        if subject is None or event.agent in subject.reactions.get(event.reaction, ()):
            return None
        return msgspec.structs.replace(event, message=message)
    return event if _applies(world, event, agents, rooms) else None


def _applies(world: World, event: e.WorldEvent, agents: set[int], rooms: set[int]) -> bool:
    if isinstance(event, e.RoomJoined):
        is_known = event.agent == e.ARCHITECT or _is_there(world.agents, agents, event.agent)
        return is_known and _is_there(world.rooms, rooms, event.room)
    if isinstance(event, e.RoomLeft):
        return event.room in world.rooms and event.agent in world.rooms[event.room].members
    if isinstance(event, e.BillboardSet | e.WpmSet | e.KeyCreated | e.KeyRevoked):
        return event.room in world.rooms
    if isinstance(event, e.AgentCreated):
        return event.id not in world.agents
    if isinstance(event, _ON_REQUEST):
        return event.id in world.requests
    if isinstance(event, e.MessageWithdrawn):
        return event.id in world.pending
    if isinstance(event, _ON_MEMORY):
        return event.agent in world.agents
    if isinstance(event, (*_ON_AGENT, e.AgentAltered, e.AgentRetired)):
        return event.id in world.agents and not world.agents[event.id].retired
    return isinstance(event, _OF_WHOLE_WORLD)


def _local_message(world: World, message: tuple[int, int] | None) -> int:
    """Return the number here of a message that was said in a partition; 0: it was not heard here."""
    if message is None:
        return 0
    partition, id = message
    return id if partition == world.partition else world.heard.get(partition, {}).get(id, 0)


def _is_there(present: dict[int, Any], introduced: set[int], id: int) -> bool:
    return id in present or id in introduced


def _may_speak(world: World, agents: set[int], sender: int) -> bool:
    return sender <= e.ARCHITECT or _is_there(world.agents, agents, sender)
