"""How each event changes a world: one place, called for what is read from a log and for what was just appended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from hudkit.errors import StoreDamaged
from hudkit.log import Draft, Event, Finding
from hudkit.rooms import world_events as e
from hudkit.rooms.knowledge_tree import append_at, delete_at, set_at
from hudkit.rooms.world import (
    AccessRequest,
    AgentState,
    RecentAction,
    RoomKey,
    RoomMessage,
    RoomState,
    World,
    WorldRules,
)
from hudkit.rooms.world_events import WorldCreated, WorldEvent

MINUTE = 60_000


def apply_event(world: World, seq: int, at: int, what: e.WorldEvent) -> None:
    """Fold one event in: the `seq`-th of the world's log, which happened `at` (Unix ms)."""
    world.seq = seq
    world.now = max(world.now, at)
    at = world.now
    match what:
        case e.MessagePosted():
            _said(world, seq, at, what)
        case e.BeatBegun(agent=id, number=number):
            agent = world.agents[id]
            agent.beats = agent.beating = number
            agent.last_beat = what.at
            agent.seen = seq - 1
            agent.woken = False
            world.beats += 1
        case e.BeatFinished(agent=id, due=due):
            agent = world.agents[id]
            tempo = world.rules.tempo
            agent.beating = 0
            agent.due = due
            agent.interval = round(min(tempo.most, agent.interval + tempo.decay), 3)
        case e.ReplyReceived(agent=id):
            agent = world.agents[id]
            agent.tokens_in += what.input_tokens
            agent.tokens_out += what.output_tokens
            agent.cost += what.cost
            agent.last_error = what.error
            world.cost += what.cost
        case e.ActionApplied(agent=id, action=action):
            _recent(world, world.agents[id], RecentAction(at, action))
        case e.ActionRefused(agent=id, action=action, why=why):
            _recent(world, world.agents[id], RecentAction(at, action, why))
            world.agents[id].changed = seq
        case e.ReactionAdded():
            _reacted(world, seq, what)
        case e.KnowledgeSet(agent=id, path=path, value=value, weight=weight):
            agent = world.agents[id]
            agent.knowledge = set_at(agent.knowledge, path, value)
            agent.weights = {name: one for name, one in agent.weights.items() if not _below(name, path)}
            if weight is not None:
                agent.weights[path] = weight
            if what.by is not None:
                agent.changed = seq
        case e.KnowledgeAppended(agent=id, path=path, value=value):
            agent = world.agents[id]
            agent.knowledge = append_at(agent.knowledge, path, value)
        case e.KnowledgeDeleted(agent=id, path=path):
            agent = world.agents[id]
            agent.knowledge = delete_at(agent.knowledge, path)
            agent.weights = {name: one for name, one in agent.weights.items() if not _below(name, path)}
        case e.AttentionSet(agent=id, room=room, percent=percent):
            attention = {name: one for name, one in world.agents[id].attention.items() if name != room}
            world.agents[id].attention = attention if percent is None else {**attention, room: percent}
        case e.AgentWoken(id=id, by=by, due=due):
            agent = world.agents[id]
            agent.woken, agent.sleeps_until = True, 0
            agent.due = min(agent.due, max(due, agent.slowed_until) if by else due)
            if by > 0:
                world.wakes[by] = [*_recently(world.wakes.get(by, ()), at), at]
        case e.AgentSlept(id=id, until=until):
            world.agents[id].sleeps_until = until
        case e.BeatScheduled(id=id, due=due):
            world.agents[id].due = due
        case e.AgentThrottled(id=id, until=until):
            agent = world.agents[id]
            agent.slowed_until, agent.interval = until, world.rules.tempo.most
            agent.due = max(agent.due, until)
        case e.IntervalSet(id=id, interval=interval):
            world.agents[id].interval = interval
        case e.AgentCreated():
            _made(world, seq, at, what)
        case e.AgentAltered(id=id):
            agent = world.agents[id]
            for name in ("name", "background", "model", "can_create", "input_format", "output_format"):
                if (value := getattr(what, name)) is not None:
                    setattr(agent, name, value)
            if what.by != id:
                agent.changed = seq
        case e.AgentRetired(id=id):
            world.agents[id].retired = True
        case _:
            _elsewhere(world, seq, at, what)


def _elsewhere(world: World, seq: int, at: int, what: e.WorldEvent) -> None:
    """What happens to rooms, access and the world itself: seldom."""
    match what:
        case e.RoomJoined(room=id, agent=agent):
            room = world.rooms[id]
            if agent not in room.members:
                room.members.append(agent)
            room.joined[agent] = world.next_message - 1
            if agent in world.agents and id not in world.agents[agent].rooms:
                world.agents[agent].rooms.append(id)
            _notice(world, seq, room.members)
        case e.RoomLeft(room=id, agent=agent):
            room = world.rooms[id]
            room.members.remove(agent)
            room.joined.pop(agent, None)
            if agent in world.agents:
                one = world.agents[agent]
                one.rooms.remove(id)
                one.attention.pop(id, None)
                one.spoke.pop(id, None)
            _notice(world, seq, room.members)
        case e.BillboardSet(room=id, text=text):
            world.rooms[id].billboard = text
            _notice(world, seq, world.rooms[id].members, but=id if what.by is None else None)
        case e.WpmSet(room=id, wpm=wpm):
            world.rooms[id].wpm = wpm
        case e.KeyCreated(room=id):
            world.rooms[id].keys.append(RoomKey(what.label, what.digest, what.salt, what.uses))
            _notice(world, seq, () if what.by is None else (id,))
        case e.KeyRevoked(room=id, label=label):
            world.rooms[id].keys = [key for key in world.rooms[id].keys if key.label != label]
            _notice(world, seq, () if what.by is None else (id,))
        case e.AccessRequested(id=id, room=room, agent=agent, label=label):
            world.requests[id] = AccessRequest(id, room, agent, label, at)
            world.next_request = id + 1
            world.rooms[room].requests.append(id)
            _spend(world.rooms[room], label)
            _notice(world, seq, (room,))
        case e.AccessGranted(id=id, by=by) | e.AccessDenied(id=id, by=by):
            request = world.requests.pop(id)
            world.rooms[request.room].requests.remove(id)
            _notice(world, seq, (request.agent, request.room), but=by)
        case e.AccessFailed(room=room, agent=agent):
            world.failures = _once_more(world.failures, agent, at)
            world.locks = _once_more(world.locks, room, at)
        case e.WorldCreated(name=name, seed=seed, rules=rules, prompts=prompts):
            world.name, world.seed = name, seed
            world.rules, world.prompts = msgspec.convert(rules, WorldRules), dict(prompts)
            world.begun = at
        case e.RulesChanged(rules=rules):
            world.rules = msgspec.convert(rules, WorldRules)
            _notice(world, seq, world.agents)
        case e.PromptsChanged(prompts=prompts):
            world.prompts = {**world.prompts, **prompts}
            _notice(world, seq, world.agents)
        case e.WorldPaused(why=why, ending=ending):
            world.paused = why
            world.halted = world.halted if ending else seq
        case e.WorldResumed():
            world.paused = None
        case e.SpeedSet(factor=factor):
            world.speed = factor
        case _:
            raise TypeError(f"{type(what).__name__} is not folded")


def _said(world: World, seq: int, at: int, what: e.MessagePosted) -> None:
    room = world.rooms[what.room]
    world.messages[what.id] = RoomMessage(
        what.id, what.room, what.sender, what.content, what.kind, what.reply_to, what.words, at
    )
    world.next_message = what.id + 1
    room.messages.append(what.id)
    if what.sender in world.agents:
        world.agents[what.sender].spoke[what.room] = at
    _notice(world, seq, room.members, but=what.sender)


def _reacted(world: World, seq: int, what: e.ReactionAdded) -> None:
    message = world.messages[what.message]
    message.reactions.setdefault(what.reaction, []).append(what.agent)
    message.version += 1
    world.rooms[message.room].reactions += 1
    author = world.agents.get(message.sender)
    if author is None or author.id == what.agent:
        return
    author.changed = seq
    tempo = world.rules.tempo
    if what.reaction == "thumbs_up":
        author.interval = round(max(tempo.least, author.interval - tempo.step), 3)
    elif what.reaction == "thumbs_down":
        author.interval = round(min(tempo.most, author.interval + tempo.step), 3)


def _made(world: World, seq: int, at: int, what: e.AgentCreated) -> None:
    world.agents[what.id] = AgentState(
        what.id,
        what.kind,
        what.name,
        what.background,
        what.model,
        what.by,
        what.depth,
        what.can_create,
        what.input_format,
        what.output_format,
        what.interval,
        at,
        due=what.first_due,
        changed=seq,
    )
    world.rooms[what.id] = RoomState(what.id, world.rules.words.wpm)
    world.next_agent = what.id + 1


def _recent(world: World, agent: AgentState, done: RecentAction) -> None:
    agent.recent.append(done)
    del agent.recent[: -world.rules.tokens.actions or len(agent.recent)]


def _notice(world: World, seq: int, ids: Iterable[int], but: int | None = None) -> None:
    """Something that these agents' HUDs show is new."""
    for id in ids:
        if id != but and (agent := world.agents.get(id)) is not None:
            agent.changed = seq


def _spend(room: RoomState, label: str) -> None:
    """One use of a key less; the last one takes it away."""
    for key in room.keys:
        if key.label == label and key.uses:
            key.uses -= 1
            if not key.uses:
                room.keys.remove(key)
            return


def _once_more(times: Mapping[int, list[int]], id: int, at: int) -> dict[int, list[int]]:
    """The times of the last minute by number, with one more; else those of no room would stay for ever."""
    lately = {one: found for one, all_ in times.items() if (found := _recently(all_, at))}
    return {**lately, id: [*lately.get(id, ()), at]}


def _recently(times: Iterable[int], at: int) -> list[int]:
    return [one for one in times if one > at - MINUTE]


def _below(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}.")


PAGE = 1000
"""Events of one append when a log is copied."""


def fold_logged_event(world: World, event: Event, what: WorldEvent, *, holes: bool, seq: int | None = None) -> bool:
    """Fold an event of a log in, as the `seq`-th where it is not its own number; whether it was.

    With `holes`, events before it are gone, and one that rests on them is passed over. Without, it raises
    `StoreDamaged`.
    """
    try:
        apply_event(world, event.seq if seq is None else seq, event.timestamp, what)
        return True
    except (LookupError, ValueError, TypeError) as error:
        if holes:
            return False
        raise StoreDamaged(
            f"event {event.seq} of the world does not follow from those before it: {type(error).__name__}: {error}",
            hint="`hudkit verify` says whether the log is whole",
            finding=Finding("type", event.session_id, event.seq, f"event {event.seq}: it cannot be folded"),
        ) from error


def fork_history(
    past: Iterable[tuple[Event, WorldEvent]], name: str, end: int, new: str = ""
) -> Iterator[list[Draft]]:
    """The past of a fork, in pages: what happened up to event `end` of the world of that name, without what rests on
    events that are gone. `new`: the fork's own name."""
    world, page = World(), list[Draft]()
    for event, what in past:
        if isinstance(what, WorldCreated):
            what = msgspec.structs.replace(what, name=new or what.name, forked_from=name, forked_at=end)
        if fold_logged_event(world, event, what, holes=True, seq=world.seq + 1):
            page.append(Draft(event.id, event.timestamp, event.turn, event.origin, what))
        if len(page) == PAGE:
            yield page
            page = []
    yield page
