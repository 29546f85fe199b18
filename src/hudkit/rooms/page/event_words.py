"""Events in a few words, for the timeline and the search."""

from __future__ import annotations

from collections.abc import Callable

from hudkit.rooms import world_events as ev
from hudkit.web.page_text import clock_time, count_of, excerpt


def describe_event(event: ev.WorldEvent | None, name: Callable[[int], str]) -> str:
    """Return what an event was in one line, such as `Ada gives Bruno’s room 40% of its attention`.

    `name` returns how the agent with an id is called; `None` is an event that was redacted, or that a newer version
    wrote. An event without words of its own is called by its tag.
    """
    if event is None:
        return "what it was is gone"

    def room(id: int) -> str:
        return f"{name(id)}’s room"

    return (
        _describe_world(event)
        or _describe_agents(event, name)
        or _describe_rooms(event, name, room)
        or _describe_beats(event, name)
        or _describe_memory(event, name, room)
        or str(event.__struct_config__.tag)
    )


def _describe_world(event: ev.WorldEvent) -> str | None:
    match event:
        case ev.InterventionMade(number=number, text=text):
            return f"intervention {number} of the experiment: {text}"
        case ev.RoomMirrored(room=room):
            return f"room {room} of another partition has a member here"
        case ev.EventRelayed(source=source):
            return f"partition {source} tells what concerns this one"
        case ev.EventReceived(source=source):
            return f"what partition {source} told is taken up"
        case ev.WorldCreated(name=new_name):
            return f"the world {excerpt(new_name, 40)} begins"
        case ev.RulesChanged():
            return "the world’s rules are changed"
        case ev.PromptsChanged():
            return "what agents are told is changed"
        case ev.WorldPaused(why=why):
            return f"the world pauses: {excerpt(why, 50)}"
        case ev.WorldResumed():
            return "the world goes on"
        case ev.SpeedSet(factor=factor):
            return f"time runs {factor:g} times as fast"
        case _:
            return None


def _describe_agents(event: ev.WorldEvent, name: Callable[[int], str]) -> str | None:
    match event:
        case ev.AgentCreated(name=new_name, by=author):
            return f"{name(author)} makes {excerpt(new_name, 40)}"
        case ev.AgentAltered(id=id, by=author):
            return f"{name(author)} changes {name(id)}"
        case ev.AgentRetired(id=id, by=author):
            return f"{name(author)} retires {name(id)}"
        case ev.AgentSlept(id=id, until=until):
            return f"{name(id)} sleeps until {clock_time(until)}"
        case ev.AgentWoken(id=id, why=why):
            return f"{name(id)} is woken: {excerpt(why, 40)}"
        case ev.IntervalSet(id=id, interval=interval):
            return f"{name(id)} beats every {interval:g} s"
        case ev.BeatScheduled(id=id):
            return f"{name(id)} is due at another time"
        case ev.AgentThrottled(id=id, other=other):
            return f"{name(id)} is slowed: it repeats itself with {name(other)}"
        case _:
            return None


def _describe_rooms(event: ev.WorldEvent, name: Callable[[int], str], room: Callable[[int], str]) -> str | None:
    match event:
        case ev.MessagePosted(kind="system", room=id, content=content):
            return f"{room(id)}: {excerpt(content, 50)}"
        case ev.MessagePosted(sender=sender, content=content):
            return f"{name(sender)}: {excerpt(content, 50)}"
        case ev.MessageDelayed(sender=sender, content=content):
            return f"{name(sender)} is about to say: {excerpt(content, 50)}"
        case ev.MessageWithdrawn(id=id, why=why):
            return f"message {id} that waited is withdrawn" + (f": {why}" if why else "")
        case ev.ReactionAdded(agent=agent, reaction=reaction):
            return f"{name(agent)} reacts: {reaction.replace('_', ' ')}"
        case ev.RoomJoined(room=id, agent=agent):
            return f"{name(agent)} comes into {room(id)}"
        case ev.RoomLeft(room=id, agent=agent):
            return f"{name(agent)} leaves {room(id)}"
        case ev.BillboardSet(room=id, text=text):
            return f"billboard of {room(id)}: {excerpt(text, 40) or 'taken down'}"
        case ev.WpmSet(room=id, wpm=wpm):
            return f"{room(id)} has {count_of(wpm, 'word')} a minute"
        case ev.KeyCreated(room=id, label=label):
            return f"a key of {room(id)} is made: {excerpt(label, 30)}"
        case ev.KeyRevoked(room=id, label=label):
            return f"a key of {room(id)} is revoked: {excerpt(label, 30)}"
        case ev.AccessRequested(room=id, agent=agent):
            return f"{name(agent)} asks to come into {room(id)}"
        case ev.AccessGranted(id=id):
            return f"request {id} is granted"
        case ev.AccessDenied(id=id):
            return f"request {id} is denied"
        case ev.AccessFailed(room=id, agent=agent, locked=locked):
            return f"{name(agent)} has a wrong key for {room(id)}" + (", which is locked now" if locked else "")
        case _:
            return None


def _describe_beats(event: ev.WorldEvent, name: Callable[[int], str]) -> str | None:
    match event:
        case ev.BeatBegun(agent=agent, number=number):
            return f"{name(agent)} sees its HUD (beat {number})"
        case ev.ReplyReceived(agent=agent, error=error):
            return f"{name(agent)} " + (f"failed: {excerpt(error, 50)}" if error else "answers")
        case ev.ActionApplied(agent=agent, action=action):
            return f"{name(agent)} does {excerpt(str(action.get('type', 'something')), 30)}"
        case ev.ActionRefused(agent=agent, why=why):
            return f"{name(agent)} is refused: {excerpt(why, 50)}"
        case ev.BeatFinished(agent=agent, number=number):
            return f"beat {number} of {name(agent)} is over"
        case _:
            return None


def _describe_memory(event: ev.WorldEvent, name: Callable[[int], str], room: Callable[[int], str]) -> str | None:
    match event:
        case ev.KnowledgeSet(agent=agent, path=path) | ev.KnowledgeAppended(agent=agent, path=path):
            return f"{name(agent)} notes {excerpt(path, 40)}"
        case ev.KnowledgeDeleted(agent=agent, path=path):
            return f"{name(agent)} forgets {excerpt(path, 40)}"
        case ev.AttentionSet(agent=agent, room=id, percent=percent):
            share = "what is left" if percent is None else f"{percent:g}%"
            return f"{name(agent)} gives {room(id)} {share} of its attention"
        case _:
            return None
