"""How events change a world: folding one event in, folding a damaged log, and what a fork takes from a log.

`apply_event` is the only place where a world's state changes. It is called for what is read from a log and for what
was just appended, so that a world that is played and one that is replayed cannot differ.

For example, agent 7's heartbeat leaves four events: `BeatBegun` (its HUD showed everything up to the event before),
`ReplyReceived`, `MessagePosted` in room 8, and `BeatFinished` with the time of its next beat. Folding the third also
notes for all members of room 8 but the author that their HUDs show something new. An agent for whom nothing is new
is mostly skipped when it is due (`scheduler.heartbeat.has_news`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from hudkit.errors import StoreDamaged
from hudkit.log import Event, Finding
from hudkit.rooms import world_events as e
from hudkit.rooms.knowledge_tree import append_at, delete_at, set_at
from hudkit.rooms.world import (
    AccessRequest,
    AgentState,
    HudBase,
    PendingMessage,
    RecentAction,
    RoomKey,
    RoomMessage,
    RoomState,
    World,
    WorldRules,
)

_MINUTE = 60_000


def apply_event(world: World, seq: int, timestamp: int, event: e.WorldEvent) -> None:
    """Fold one event in: number `seq` of the world's log, which happened at `timestamp` (Unix ms).

    Raises `LookupError`, `ValueError` or `TypeError` where the event does not follow from those before it.
    """
    world.seq = seq
    # Clocks are set back and differ between machines; order is by sequence number alone, and time stands still
    # instead.
    world.now = max(world.now, timestamp)
    now = world.now
    # Cases stand in the order of how often they happen: `match` tries one after the other, some thousand times a
    # second.
    match event:
        case e.MessagePosted():
            _add_message(world, seq, now, event)
        case e.BeatBegun(agent=id, number=number):
            agent = world.agents[id]
            agent.beats = agent.current_beat = number
            agent.last_beat = event.composed_at
            # Its HUD was composed from the state before this event.
            agent.seen_seq = seq - 1
            agent.addressed = agent.addressed or agent.woken
            agent.woken = False
            if event.base:
                agent.base = HudBase(
                    seq - 1,
                    event.composed_at,
                    world.next_message - 1,
                    event.base,
                    agent.knowledge,
                    dict(agent.weights),
                )
            world.beats += 1
        case e.BeatFinished(agent=id, due=due):
            agent = world.agents[id]
            tempo = world.rules.tempo
            agent.current_beat = 0
            agent.due = due
            if agent.addressed and not agent.last_error:
                agent.silent_beats += 1
            # Rounded, or ten thousand beats of decay would add up to digits that differ between folds.
            agent.interval = round(min(tempo.max_interval, agent.interval + tempo.decay), 3)
        case e.ReplyReceived(agent=id):
            agent = world.agents[id]
            agent.tokens_in += event.input_tokens
            agent.tokens_out += event.output_tokens
            agent.cost += event.cost
            agent.last_error = event.error
            world.cost += event.cost
        case e.ActionApplied(agent=id, action=action):
            _add_recent_action(world, world.agents[id], RecentAction(now, action))
            if "result" in action:  # of a tool: only there does its agent read it
                world.agents[id].changed_seq = seq
            _break_silence(world.agents[id])
        case e.ActionRefused(agent=id, action=action, why=why):
            _add_recent_action(world, world.agents[id], RecentAction(now, action, why))
            # By itself it is worth no beat: the agent reads it when there is something to answer.
            if world.revision < 2:
                world.agents[id].changed_seq = seq
        case e.MessageDelayed():
            _delay_message(world, event)
        case e.MessageWithdrawn(id=id):
            _take_pending(world, id)
        case e.ReactionAdded():
            _add_reaction(world, seq, event)
        case e.KnowledgeSet(agent=id, path=path, value=value, weight=weight):
            agent = world.agents[id]
            agent.knowledge = set_at(agent.knowledge, path, value)
            agent.weights = _weights_without(agent.weights, path)
            if weight is not None:
                agent.weights[path] = weight
            if event.by is not None:
                agent.changed_seq = seq
        case e.KnowledgeAppended(agent=id, path=path, value=value):
            agent = world.agents[id]
            agent.knowledge = append_at(agent.knowledge, path, value)
        case e.KnowledgeDeleted(agent=id, path=path):
            agent = world.agents[id]
            agent.knowledge = delete_at(agent.knowledge, path)
            agent.weights = _weights_without(agent.weights, path)
        case e.AttentionSet(agent=id, room=room, percent=percent):
            world.agents[id].outdated_seq = seq
            attention = {other: share for other, share in world.agents[id].attention.items() if other != room}
            world.agents[id].attention = attention if percent is None else {**attention, room: percent}
        case e.AgentWoken(id=id, by=by, due=due):
            agent = world.agents[id]
            agent.woken, agent.sleeps_until = True, 0
            # Only the Architect (0) wakes one that is throttled: its partner in the loop would do it at once.
            agent.due = min(agent.due, max(due, agent.throttled_until) if by else due)
            if by > 0:
                world.wakes[by] = [*_within_a_minute(world.wakes.get(by, ()), now), now]
        case e.AgentSlept(id=id, until=until):
            world.agents[id].sleeps_until = until
        case e.BeatScheduled(id=id, due=due):
            world.agents[id].due = due
        case e.AgentThrottled(id=id, until=until):
            agent = world.agents[id]
            agent.throttled_until, agent.interval = until, world.rules.tempo.max_interval
            agent.due = max(agent.due, until)
        case e.IntervalSet(id=id, interval=interval):
            world.agents[id].interval = interval
        case e.AgentCreated():
            _add_agent(world, seq, now, event)
        case e.AgentAltered(id=id):
            agent = world.agents[id]
            if event.name is not None and not agent.retired:
                world.note_name(id, agent.name, event.name)
            for name in ("name", "background", "model", "can_create", "input_format", "output_format", "answers"):
                if (value := getattr(event, name)) is not None:
                    setattr(agent, name, value)
            agent.outdated_seq = seq
            if event.name is not None:
                for room in {*agent.rooms, *agent.heard_in}:
                    _mark_outdated(world, seq, world.rooms[room].members)
            # What an agent does to itself is no news to it: it would beat for its own echo.
            if event.by != id:
                agent.changed_seq = seq
        case e.AgentRetired(id=id):
            world.agents[id].retired = True
            world.note_name(id, world.agents[id].name)
            _mark_outdated(world, seq, world.rooms[id].members)
        case _:
            _apply_rare_event(world, seq, now, event)


def _apply_rare_event(world: World, seq: int, now: int, event: e.WorldEvent) -> None:
    """Fold in what happens to rooms, access and the world itself."""
    match event:
        case e.RoomJoined(room=id, agent=agent):
            room = world.rooms[id]
            if agent not in room.members:
                room.members.append(agent)
            # Who comes again sees nothing of what was said in between, either.
            room.joined_after[agent] = world.next_message - 1
            if agent in world.agents and id not in world.agents[agent].rooms:
                world.agents[agent].rooms.append(id)
            _mark_changed(world, seq, room.members)
            _mark_outdated(world, seq, room.members)
        case e.RoomLeft(room=id, agent=agent):
            room = world.rooms[id]
            room.members.remove(agent)
            room.joined_after.pop(agent, None)
            if agent in world.agents:
                leaver = world.agents[agent]
                leaver.rooms.remove(id)
                leaver.attention.pop(id, None)
                # Who comes back begins anew, with the budget of a first message.
                leaver.spoke_at.pop(id, None)
                leaver.outdated_seq = seq
            _mark_changed(world, seq, room.members)
            _mark_outdated(world, seq, room.members)
        case e.BillboardSet(room=id, text=text):
            world.rooms[id].billboard = text
            _mark_changed(world, seq, world.rooms[id].members, but=id if event.by is None else None)
            _mark_outdated(world, seq, world.rooms[id].members)
        case e.WpmSet(room=id, wpm=wpm):
            world.rooms[id].wpm = wpm
        case e.KeyCreated(room=id):
            world.rooms[id].keys.append(RoomKey(event.label, event.digest, event.salt, event.uses))
            _mark_changed(world, seq, () if event.by is None else (id,))
        case e.KeyRevoked(room=id, label=label):
            world.rooms[id].keys = [key for key in world.rooms[id].keys if key.label != label]
            _mark_changed(world, seq, () if event.by is None else (id,))
        case e.AccessRequested(id=id, room=room, agent=agent, label=label):
            world.requests[id] = AccessRequest(id, room, agent, label, now)
            world.next_request = id + 1
            world.rooms[room].requests.append(id)
            _use_key(world.rooms[room], label)
            _mark_changed(world, seq, (room,))
        case e.AccessGranted(id=id, by=by) | e.AccessDenied(id=id, by=by):
            request = world.requests.pop(id)
            world.rooms[request.room].requests.remove(id)
            _mark_changed(world, seq, (request.agent, request.room), but=by)
        case e.AccessFailed(room=room, agent=agent):
            world.failures = _with_one_more(world.failures, agent, now)
            world.locks = _with_one_more(world.locks, room, now)
        case e.WorldCreated(name=name, seed=seed, rules=rules, prompts=prompts):
            world.name, world.seed = name, seed
            world.rules, world.prompts = msgspec.convert(rules, WorldRules), dict(prompts)
            world.created_at, world.revision = now, event.revision
            world.partitions, world.partition = event.partitions, event.partition
        case e.RulesChanged(rules=rules):
            world.rules = msgspec.convert(rules, WorldRules)
            _mark_changed(world, seq, world.agents)
            _mark_outdated(world, seq, world.agents)
        case e.PromptsChanged(prompts=prompts):
            world.prompts = {**world.prompts, **prompts}
            _mark_changed(world, seq, world.agents)
            _mark_outdated(world, seq, world.agents)
        case e.WorldPaused(why=why, ending=ending):
            world.paused = why
            world.halted_seq = world.halted_seq if ending else seq
        case e.WorldResumed():
            world.paused = None
        case e.SpeedSet(factor=factor):
            world.speed = factor
        case e.EventReceived(source=source):
            world.received = event.number or world.received
            for place, id in enumerate(event.ids):
                world.heard.setdefault(source, {})[id] = world.next_message + place
                world.origins[world.next_message + place] = (source, id)
        case e.RoomMirrored():
            _mirror_room(world, event)
        case e.InterventionMade():
            pass  # what it did is in the events behind it
        case _:
            raise TypeError(f"{type(event).__name__} is not folded")


def _add_message(world: World, seq: int, now: int, event: e.MessagePosted) -> None:
    room = world.rooms[event.room]
    world.messages[event.id] = RoomMessage(
        event.id, event.room, event.sender, event.content, event.kind, event.reply_to, event.words, now
    )
    # From the event, not counted: in a log with holes numbers must not be given twice.
    world.next_message = event.id + 1
    room.messages.append(event.id)
    if event.pending:
        _take_pending(world, event.pending)
    if event.sender in world.agents:
        sender = world.agents[event.sender]
        sender.spoke_at[event.room] = now
        _break_silence(sender)
        if event.room not in sender.heard_in:
            sender.heard_in.append(event.room)
    if world.revision < 2:
        _mark_changed(world, seq, room.members, but=event.sender)
        return
    if event.sender == e.ARCHITECT:
        for id in room.members:
            if id in world.agents:
                world.agents[id].addressed = True
    # By room: what an agent hears where it cannot say anything now is no reason to ask it.
    if room.last_sender != event.sender:
        room.last_sender, room.other_seq = event.sender, room.last_seq
    room.last_seq = seq


def _break_silence(agent: AgentState) -> None:
    agent.addressed, agent.silent_beats = False, 0


def _delay_message(world: World, event: e.MessageDelayed) -> None:
    message = PendingMessage(
        event.id,
        event.room,
        event.sender,
        event.content,
        event.due,
        event.reply_to,
        event.words,
        event.number,
    )
    world.pending[event.id] = message
    _break_silence(world.agents[event.sender])
    world.next_pending = event.id + 1
    ids = [*world.agents[event.sender].pending, event.id]
    world.agents[event.sender].pending = sorted(ids, key=lambda id: (world.pending[id].due, id))


def _take_pending(world: World, id: int) -> None:
    """Take a message away from those that wait."""
    agent = world.agents[world.pending.pop(id).sender]
    agent.pending = [other for other in agent.pending if other != id]


def _add_reaction(world: World, seq: int, event: e.ReactionAdded) -> None:
    message = world.messages[event.message]
    message.reactions.setdefault(event.reaction, []).append(event.agent)
    # Rendered messages are cached by version, and rooms by their number of reactions.
    message.version += 1
    world.rooms[message.room].reactions += 1
    author = world.agents.get(message.sender)
    if author is None or author.id == event.agent:
        return
    author.changed_seq = seq
    tempo = world.rules.tempo
    if event.reaction == "thumbs_up":
        author.interval = round(max(tempo.min_interval, author.interval - tempo.step), 3)
    elif event.reaction == "thumbs_down":
        author.interval = round(min(tempo.max_interval, author.interval + tempo.step), 3)


def _add_agent(world: World, seq: int, now: int, event: e.AgentCreated) -> None:
    if event.id in world.agents:  # merged from partitions, it may come twice
        world.note_name(event.id, world.agents[event.id].name)
    world.note_name(event.id, after=event.name)
    world.agents[event.id] = AgentState(
        event.id,
        event.kind,
        event.name,
        event.background,
        event.model,
        event.by,
        event.depth,
        event.can_create,
        event.input_format,
        event.output_format,
        event.interval,
        now,
        due=event.first_due,
        changed_seq=seq,
        answers=event.answers,
        home=event.home if world.partitions and event.home != world.partition else 0,
    )
    world.rooms[event.id] = RoomState(event.id, world.rules.words.wpm)
    # Agents of other partitions have numbers that are not given here.
    world.next_agent = max(world.next_agent, event.id + 1) if world.partitions else event.id + 1


def _mirror_room(world: World, event: e.RoomMirrored) -> None:
    """Take up another partition's room as it is there now."""
    room = world.rooms.setdefault(event.room, RoomState(event.room, event.wpm))
    for id in room.members:
        if id in world.agents and id not in event.members and event.room in world.agents[id].rooms:
            world.agents[id].rooms.remove(event.room)
    room.wpm, room.billboard, room.members = event.wpm, event.billboard, list(event.members)
    for id in event.members:
        room.joined_after.setdefault(id, world.next_message - 1)
        if id in world.agents and event.room not in world.agents[id].rooms:
            world.agents[id].rooms.append(event.room)


def _add_recent_action(world: World, agent: AgentState, action: RecentAction) -> None:
    agent.recent.append(action)
    # With a limit of 0 the slice would be empty, and nothing would ever go: then all of them go.
    del agent.recent[: -world.rules.tokens.actions or len(agent.recent)]


def _mark_changed(world: World, seq: int, ids: Iterable[int], but: int | None = None) -> None:
    """Note that the HUDs of these agents show something new."""
    for id in ids:
        if id != but and (agent := world.agents.get(id)) is not None:
            agent.changed_seq = seq


def _mark_outdated(world: World, seq: int, ids: Iterable[int]) -> None:
    """Note that something in the bases of these agents' HUDs is no longer true."""
    for id in ids:
        if (agent := world.agents.get(id)) is not None:
            agent.outdated_seq = seq


def _use_key(room: RoomState, label: str) -> None:
    """Count one use of a key; its last use takes it away."""
    for key in room.keys:
        if key.label == label and key.uses:
            key.uses -= 1
            if not key.uses:
                room.keys.remove(key)
            return


def _with_one_more(times: Mapping[int, list[int]], id: int, now: int) -> dict[int, list[int]]:
    """Return the times of the last minute by number, with one more for `id`.

    All numbers are pruned, not only this one: guesses at rooms that do not exist would fill the state for ever.
    """
    lately = {key: recent for key, all_times in times.items() if (recent := _within_a_minute(all_times, now))}
    return {**lately, id: [*lately.get(id, ()), now]}


def _within_a_minute(times: Iterable[int], now: int) -> list[int]:
    return [time for time in times if time > now - _MINUTE]


def _weights_without(weights: Mapping[str, float], path: str) -> dict[str, float]:
    """Return the weights but for those at `path` and below it."""
    return {name: weight for name, weight in weights.items() if name != path and not name.startswith(f"{path}.")}


# -- logs with holes, and forks ------------------------------------------------------------------------------------


def fold_logged_event(
    world: World, entry: Event, event: e.WorldEvent, *, holes: bool, seq: int | None = None
) -> bool:
    """Fold an entry of a log in, as number `seq` where it is not its own number; return whether it was folded in.

    With `holes`, entries before it are gone (redacted, or of a newer version), and one that rests on them is passed
    over. Without, nothing may be missing, and it raises `StoreDamaged`.
    """
    try:
        apply_event(world, entry.seq if seq is None else seq, entry.timestamp, event)
        return True
    except (LookupError, ValueError, TypeError) as error:
        if holes:
            return False
        raise StoreDamaged(
            f"event {entry.seq} of the world does not follow from those before it: {type(error).__name__}: {error}",
            hint="`hudkit verify` says whether the log is whole",
            finding=Finding("type", entry.session_id, entry.seq, f"event {entry.seq}: it cannot be folded"),
        ) from error
