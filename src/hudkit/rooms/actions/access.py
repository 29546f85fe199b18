"""Who comes into a room: keys, requests, admission, leaving."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.compose import visible
from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.action import MINUTE, Arguments, Id, Turn, action, called, near, room_of
from hudkit.rooms.actions.keys import digest, fitting, new_key
from hudkit.rooms.world import Key, Request

Label = Annotated[str, Meta(max_length=50)]

REFUSED = "there is no such room, or the key does not fit"
"""One answer for both, and for a room that is closed."""

LOCKED = "too many wrong keys within a minute"

_NOBODY = (Key("", digest("", "0"), "0"),)


class CreateKey(Arguments, frozen=True):
    label: Label = ""
    key: Label = ""  # 003's name for it
    uses: Annotated[int, Meta(ge=0, le=1000)] = 0
    for_agent: Id | None = None


class RevokeKey(Arguments, frozen=True):
    label: Label = ""
    key: Label = ""


class RequestAccess(Arguments, frozen=True):
    room_id: Id
    key: Annotated[str, Meta(max_length=200)]


class Decide(Arguments, frozen=True):
    request_id: Id


class Leave(Arguments, frozen=True):
    room_id: Id


@action("create_key", CreateKey, {"label": "friends", "uses": 3, "for_agent": 9})
def create_key(turn: Turn, args: CreateKey) -> None:
    """Have a key made for your room. It is shown once, to `for_agent` or to you; `label` names it."""
    make_key(turn, args.label or args.key, args.uses, args.for_agent)


def make_key(turn: Turn, label: str, uses: int = 0, for_agent: int | None = None) -> str:
    """Make a key for the actor's room and whisper it to an agent (to the actor, where none is named); the key."""
    room, most = turn.own, turn.world.rules.caps.keys
    label = label.strip()
    if not label or visible(label) != label:
        raise OperationError(f"{visible(label)!r} cannot be a key's label", hint="Letters that can be seen")
    if any(key.label == label for key in room.keys):
        raise OperationError(f"your room has a key {label!r}", hint="Choose another label, or revoke that key first")
    if len(room.keys) >= most:
        raise OperationError(f"your room has {most} keys", hint="Revoke one first")
    reader = near(turn, for_agent).id if for_agent is not None and for_agent != turn.place else turn.place
    key, salt = new_key(turn.secret()), turn.secret()
    turn.effects.append(e.KeyMade(room.id, label, digest(key, salt), salt, uses, turn.other))
    use = f'{{"type": "request_access", "room_id": {room.id}, "key": "{key}"}}'
    whose = "your room" if reader == turn.place else f"room {room.id}, from {called(turn.world, turn.place)}"
    turn.whispers.append((reader, f"A key ({label}) to {whose}, shown only now and kept nowhere: {use}"))
    return key


@action("revoke_key", RevokeKey, {"label": "friends"})
def revoke_key(turn: Turn, args: RevokeKey) -> None:
    """Make a key of your room, named by its label, useless."""
    room, label = turn.own, args.label or args.key
    if all(key.label != label for key in room.keys):
        labels = ", ".join(key.label for key in room.keys) or "none"
        raise OperationError("your room has no key of that label", hint=f"Labels: {labels}")
    turn.effects.append(e.KeyRevoked(room.id, label, turn.other))


@action("request_access", RequestAccess, {"room_id": 8, "key": "(the key that you were given)"})
def request_access(turn: Turn, args: RequestAccess) -> None:
    """Ask to come into a room whose key you have."""
    world, id = turn.world, args.room_id
    room = world.rooms.get(id)
    if room is not None and turn.by in room.members:
        raise OperationError(f"you are in room {id}")
    if room is not None and any(world.requests[one].agent == turn.by for one in room.requests):
        raise OperationError(f"you asked for room {id} before; wait for the answer")
    # A room that is locked stays open to who holds its key and did not guess: or anybody could shut it for ever.
    # Nothing is to be learnt by that: whoever guesses wrong there is locked out at once, before another key is
    # looked at, the answer is the same for a room that is not there, and all keys are compared, whole, each time.
    guesses = world.rules.caps.guesses
    own, all_ = (_recent(turn, times) for times in (world.failures.get(turn.by, ()), world.locks.get(id, ())))
    locked = all_ >= guesses
    if own >= (1 if locked else guesses):
        raise OperationError(LOCKED, hint="Wait a minute")
    shut = room is None or world.agents[id].retired
    label = fitting(_NOBODY if room is None else room.keys or _NOBODY, args.key.strip())
    if shut or not label or room is None:
        turn.anyway.append(e.AccessFailed(id, turn.by, locked=max(own, all_) + 1 >= guesses))
        raise OperationError(LOCKED, hint="Wait a minute") if locked else OperationError(REFUSED)
    turn.effects.append(e.AccessAsked(world.next_request, id, turn.by, label))
    turn.say(id, f"{called(world, turn.by)} asks to come in (request {world.next_request}).")


@action("grant_access", Decide, {"request_id": 42})
def grant_access(turn: Turn, args: Decide) -> None:
    """Let one who asked into your room."""
    request = _open(turn, args.request_id)
    turn.effects.append(e.AccessGranted(request.id, turn.by))
    if request.agent not in turn.world.rooms[request.room].members:  # else it came in another way meanwhile
        enter(turn, request.room, request.agent)
    turn.wake(request.agent, "admission")


@action("deny_access", Decide, {"request_id": 42})
def deny_access(turn: Turn, args: Decide) -> None:
    """Do not let one who asked into your room."""
    request = _open(turn, args.request_id)
    deny(turn, request)


@action("leave_room", Leave, {"room_id": 8})
def leave_room(turn: Turn, args: Leave) -> None:
    """Leave a room; not your own."""
    room = turn.world.rooms.get(args.room_id)
    if room is None or turn.place not in room.members:
        room_of(turn, args.room_id)
        raise OperationError(f"agent {turn.place} is not in room {args.room_id}")
    if room.id == turn.place:
        raise OperationError("you cannot leave your own room")
    leave(turn, room.id, turn.place)


def enter(turn: Turn, room: int, agent: int) -> None:
    """One comes in, and all members are told."""
    turn.effects.append(e.Joined(room, agent, turn.by))
    turn.say(room, f"{called(turn.world, agent)} came in.")


def leave(turn: Turn, room: int, agent: int) -> None:
    """One leaves, and those who stay are told."""
    turn.effects.append(e.Left(room, agent))
    turn.say(room, f"{called(turn.world, agent)} left.")


def deny(turn: Turn, request: Request) -> None:
    """Close a request, and tell the one who asked, in its own room."""
    turn.effects.append(e.AccessDenied(request.id, turn.by))
    turn.say(request.agent, f"Your request to come into room {request.room} was denied.")


def _open(turn: Turn, id: int) -> Request:
    """An open request for the actor's room. Raises `OperationError` in the same words for another room's."""
    request = turn.world.requests.get(id)
    if request is None or (not turn.free and request.room != turn.by):
        raise OperationError(f"your room has no open request {id}")
    return request


def _recent(turn: Turn, times: list[int] | tuple[()]) -> int:
    return sum(at > turn.now - MINUTE for at in times)
