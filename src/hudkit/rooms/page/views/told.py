"""What an event was, in a few words, for the timeline."""

from __future__ import annotations

from collections.abc import Callable

from hudkit.rooms import world_events as ev
from hudkit.rooms.page.views.scene import Scene, clock_time, excerpt, many


def told(scene: Scene, what: ev.WorldEvent | None) -> str:
    """One line; `None` is an event that cannot be read any more."""
    if what is None:
        return "what it was is gone"
    name, room = scene.name, _room(scene)
    return (
        _of_the_world(what)
        or _of_agents(what, name)
        or _of_rooms(what, name, room)
        or _of_beats(what, name)
        or _of_memory(what, name, room)
        or str(what.__struct_config__.tag)
    )


def _room(scene: Scene) -> Callable[[int], str]:
    return lambda id: f"{scene.name(id)}’s room"


def _of_the_world(what: ev.WorldEvent) -> str | None:
    match what:
        case ev.WorldCreated(name=made):
            return f"the world {excerpt(made, 40)} begins"
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


def _of_agents(what: ev.WorldEvent, name: Callable[[int], str]) -> str | None:
    match what:
        case ev.AgentCreated(name=made, by=by):
            return f"{name(by)} makes {excerpt(made, 40)}"
        case ev.AgentAltered(id=id, by=by):
            return f"{name(by)} changes {name(id)}"
        case ev.AgentRetired(id=id, by=by):
            return f"{name(by)} retires {name(id)}"
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


def _of_rooms(what: ev.WorldEvent, name: Callable[[int], str], room: Callable[[int], str]) -> str | None:
    match what:
        case ev.MessagePosted(kind="system", room=place, content=content):
            return f"{room(place)}: {excerpt(content, 50)}"
        case ev.MessagePosted(sender=sender, content=content):
            return f"{name(sender)}: {excerpt(content, 50)}"
        case ev.ReactionAdded(agent=agent, reaction=reaction):
            return f"{name(agent)} reacts: {reaction.replace('_', ' ')}"
        case ev.RoomJoined(room=place, agent=agent):
            return f"{name(agent)} comes into {room(place)}"
        case ev.RoomLeft(room=place, agent=agent):
            return f"{name(agent)} leaves {room(place)}"
        case ev.BillboardSet(room=place, text=text):
            return f"billboard of {room(place)}: {excerpt(text, 40) or 'taken down'}"
        case ev.WpmSet(room=place, wpm=wpm):
            return f"{room(place)} has {many(wpm, 'word')} a minute"
        case ev.KeyCreated(room=place, label=label):
            return f"a key of {room(place)} is made: {excerpt(label, 30)}"
        case ev.KeyRevoked(room=place, label=label):
            return f"a key of {room(place)} is revoked: {excerpt(label, 30)}"
        case ev.AccessRequested(room=place, agent=agent):
            return f"{name(agent)} asks to come into {room(place)}"
        case ev.AccessGranted(id=id):
            return f"request {id} is granted"
        case ev.AccessDenied(id=id):
            return f"request {id} is denied"
        case ev.AccessFailed(room=place, agent=agent, locked=locked):
            return f"{name(agent)} has a wrong key for {room(place)}" + (", which is locked now" if locked else "")
        case _:
            return None


def _of_beats(what: ev.WorldEvent, name: Callable[[int], str]) -> str | None:
    match what:
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


def _of_memory(what: ev.WorldEvent, name: Callable[[int], str], room: Callable[[int], str]) -> str | None:
    match what:
        case ev.KnowledgeSet(agent=agent, path=path) | ev.KnowledgeAppended(agent=agent, path=path):
            return f"{name(agent)} notes {excerpt(path, 40)}"
        case ev.KnowledgeDeleted(agent=agent, path=path):
            return f"{name(agent)} forgets {excerpt(path, 40)}"
        case ev.AttentionSet(agent=agent, room=place, percent=percent):
            share = "what is left" if percent is None else f"{percent:g}%"
            return f"{name(agent)} gives {room(place)} {share} of its attention"
        case _:
            return None
