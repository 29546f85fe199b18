"""Who comes into a room: keys, requests, admission, leaving."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from hmac import compare_digest
from typing import Annotated

from msgspec import Meta

from hudkit.compose import visible
from hudkit.errors import OperationError
from hudkit.rooms import world_events as e
from hudkit.rooms.actions.action import (
    MINUTE,
    ActionArguments,
    ActionContext,
    PositiveId,
    action,
    checked_text,
    display_name,
    joined_room,
    living_agent,
    neighbor,
    open_room,
)
from hudkit.rooms.allowances import count_words, room_words_left, seconds_until_allowed, word_budget
from hudkit.rooms.reply_parser import is_silence
from hudkit.rooms.world import AccessRequest, RoomKey, RoomMessage, World

KEY_PREFIX = "hudroom_"
"""How a key begins; `events.redact` knows it, so that no log holds one."""


def new_key(bits: str) -> str:
    """A key of random hexadecimal digits."""
    return KEY_PREFIX + bits


def key_digest(key: str, salt: str) -> str:
    """What is stored of a key."""
    return blake2b(key.encode("utf-8", "replace"), key=salt.encode()[:64], digest_size=32).hexdigest()


def find_matching_key(keys: Iterable[RoomKey], key: str) -> str | None:
    """The label of the key that fits. All are compared, whole, whichever fits."""
    found = None
    for one in keys:
        if compare_digest(key_digest(key, one.salt), one.digest):
            found = one.label
    return found


Label = Annotated[str, Meta(max_length=50)]

REFUSED = "there is no such room, or the key does not fit"
"""One answer for both, and for a room that is closed."""

LOCKED = "too many wrong keys within a minute"

_NOBODY = (RoomKey("", key_digest("", "0"), "0"),)


class _CreateKeyArguments(ActionArguments, frozen=True):
    label: Label = ""
    key: Label = ""  # 003's name for it
    uses: Annotated[int, Meta(ge=0, le=1000)] = 0
    for_agent: PositiveId | None = None


class RevokeKeyArguments(ActionArguments, frozen=True):
    label: Label = ""
    key: Label = ""


class _RequestAccessArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    key: Annotated[str, Meta(max_length=200)]


class AccessDecisionArguments(ActionArguments, frozen=True):
    request_id: PositiveId


class _LeaveArguments(ActionArguments, frozen=True):
    room_id: PositiveId


@action("create_key", _CreateKeyArguments, {"label": "friends", "uses": 3, "for_agent": 9})
def create_key(turn: ActionContext, args: _CreateKeyArguments) -> None:
    """Have a key made for your room. It is shown once, to `for_agent` or to you; `label` names it."""
    make_key(turn, args.label or args.key, args.uses, args.for_agent)


def make_key(turn: ActionContext, label: str, uses: int = 0, for_agent: int | None = None) -> str:
    """Make a key for the actor's room and whisper it to an agent (to the actor, where none is named); the key."""
    room, most = turn.own, turn.world.rules.caps.keys
    label = label.strip()
    if not label or visible(label) != label:
        raise OperationError(f"{visible(label)!r} cannot be a key's label", hint="Letters that can be seen")
    if any(key.label == label for key in room.keys):
        raise OperationError(f"your room has a key {label!r}", hint="Choose another label, or revoke that key first")
    if len(room.keys) >= most:
        raise OperationError(f"your room has {most} keys", hint="Revoke one first")
    reader = neighbor(turn, for_agent).id if for_agent is not None and for_agent != turn.place else turn.place
    key, salt = new_key(turn.secret()), turn.secret()
    turn.effects.append(e.KeyCreated(room.id, label, key_digest(key, salt), salt, uses, turn.other))
    use = f'{{"type": "request_access", "room_id": {room.id}, "key": "{key}"}}'
    whose = "your room" if reader == turn.place else f"room {room.id}, from {display_name(turn.world, turn.place)}"
    turn.whispers.append((reader, f"A key ({label}) to {whose}, shown only now and kept nowhere: {use}"))
    return key


@action("revoke_key", RevokeKeyArguments, {"label": "friends"})
def revoke_key(turn: ActionContext, args: RevokeKeyArguments) -> None:
    """Make a key of your room, named by its label, useless."""
    room, label = turn.own, args.label or args.key
    if all(key.label != label for key in room.keys):
        labels = ", ".join(key.label for key in room.keys) or "none"
        raise OperationError("your room has no key of that label", hint=f"Labels: {labels}")
    turn.effects.append(e.KeyRevoked(room.id, label, turn.other))


@action("request_access", _RequestAccessArguments, {"room_id": 8, "key": "(the key that you were given)"})
def request_access(turn: ActionContext, args: _RequestAccessArguments) -> None:
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
    label = find_matching_key(_NOBODY if room is None else room.keys or _NOBODY, args.key.strip())
    if shut or not label or room is None:
        turn.anyway.append(e.AccessFailed(id, turn.by, locked=max(own, all_) + 1 >= guesses))
        raise OperationError(LOCKED, hint="Wait a minute") if locked else OperationError(REFUSED)
    turn.effects.append(e.AccessRequested(world.next_request, id, turn.by, label))
    turn.say(id, f"{display_name(world, turn.by)} asks to come in (request {world.next_request}).")


@action("grant_access", AccessDecisionArguments, {"request_id": 42})
def grant_access(turn: ActionContext, args: AccessDecisionArguments) -> None:
    """Let one who asked into your room."""
    request = _open(turn, args.request_id)
    turn.effects.append(e.AccessGranted(request.id, turn.by))
    if request.agent not in turn.world.rooms[request.room].members:  # else it came in another way meanwhile
        enter_room(turn, request.room, request.agent)
    turn.wake(request.agent, "admission")


@action("deny_access", AccessDecisionArguments, {"request_id": 42})
def deny_access(turn: ActionContext, args: AccessDecisionArguments) -> None:
    """Do not let one who asked into your room."""
    request = _open(turn, args.request_id)
    close_request(turn, request)


@action("leave_room", _LeaveArguments, {"room_id": 8})
def leave_room(turn: ActionContext, args: _LeaveArguments) -> None:
    """Leave a room; not your own."""
    room = turn.world.rooms.get(args.room_id)
    if room is None or turn.place not in room.members:
        joined_room(turn, args.room_id)
        raise OperationError(f"agent {turn.place} is not in room {args.room_id}")
    if room.id == turn.place:
        raise OperationError("you cannot leave your own room")
    remove_from_room(turn, room.id, turn.place)


def enter_room(turn: ActionContext, room: int, agent: int) -> None:
    """One comes in, and all members are told."""
    turn.effects.append(e.RoomJoined(room, agent, turn.by))
    turn.say(room, f"{display_name(turn.world, agent)} came in.")


def remove_from_room(turn: ActionContext, room: int, agent: int) -> None:
    """One leaves, and those who stay are told."""
    turn.effects.append(e.RoomLeft(room, agent))
    turn.say(room, f"{display_name(turn.world, agent)} left.")


def close_request(turn: ActionContext, request: AccessRequest) -> None:
    """Close a request, and tell the one who asked, in its own room."""
    turn.effects.append(e.AccessDenied(request.id, turn.by))
    turn.say(request.agent, f"Your request to come into room {request.room} was denied.")


def _open(turn: ActionContext, id: int) -> AccessRequest:
    """An open request for the actor's room. Raises `OperationError` in the same words for another room's."""
    request = turn.world.requests.get(id)
    if request is None or (not turn.free and request.room != turn.by):
        raise OperationError(f"your room has no open request {id}")
    return request


def _recent(turn: ActionContext, times: list[int] | tuple[()]) -> int:
    return sum(at > turn.now - MINUTE for at in times)


class BillboardArguments(ActionArguments, frozen=True):
    message: str


class NoArguments(ActionArguments, frozen=True):
    pass


class WpmArguments(ActionArguments, frozen=True):
    wpm: int


@action("set_billboard", BillboardArguments, {"message": "Ideas about memory are welcome here"})
def set_billboard(turn: ActionContext, args: BillboardArguments) -> None:
    """Write on the billboard of your room, which all its members see."""
    room = turn.own
    turn.effects.append(e.BillboardSet(room.id, checked_text(turn.world, args.message, "the billboard"), turn.other))


@action("clear_billboard", NoArguments)
def clear_billboard(turn: ActionContext, _: NoArguments) -> None:
    """Take the billboard of your room down."""
    room = turn.own
    if not room.billboard:
        raise OperationError("there is nothing on your billboard")
    turn.effects.append(e.BillboardSet(room.id, "", turn.other))


@action("set_wpm", WpmArguments, {"wpm": 80})
def set_wpm(turn: ActionContext, args: WpmArguments) -> None:
    """Set how many words a minute one may say in your room."""
    room, rules = turn.own, turn.world.rules.words
    if not rules.least_wpm <= args.wpm <= rules.most_wpm:
        raise OperationError(f"{args.wpm} words a minute", hint=f"{rules.least_wpm} to {rules.most_wpm}")
    turn.effects.append(e.WpmSet(room.id, args.wpm))


_MAX_MENTION_CHARACTERS = 500  # characters behind an @ that can be a name


def mentioned_agents(world: World, room: int, content: str) -> tuple[int, ...]:
    """The agents of a room that a message names, each once, in the order of their names in it. Of names that begin
    alike the longest counts; case does not."""
    if "@" not in content:
        return ()
    names = _names(world, room)
    folded = content.casefold()
    found: dict[int, None] = {}
    place = folded.find("@")
    while place >= 0:
        if not folded[max(0, place - 1) : place].isalnum():  # no address of mail
            rest = folded[place + 1 : place + 1 + _MAX_MENTION_CHARACTERS]
            for name, id in names:
                if rest.startswith(name) and not rest[len(name) : len(name) + 1].isalnum():
                    found[id] = None
                    break
        place = folded.find("@", place + 1)
    return tuple(found)


def _names(world: World, room: int) -> list[tuple[str, int]]:
    agents = [world.agents[id] for id in world.rooms[room].members if id in world.agents]
    names = [(agent.name.casefold(), agent.id) for agent in agents] + [(str(agent.id), agent.id) for agent in agents]
    return sorted(names, key=lambda one: -len(one[0]))


MessageId = Annotated[int, Meta(ge=1)]


class _ReplyArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    message_id: MessageId
    message: str


class ReactArguments(ActionArguments, frozen=True):
    message_id: MessageId
    reaction: e.Reaction


class WakeArguments(ActionArguments, frozen=True):
    agent_id: PositiveId


@action("reply", _ReplyArguments, {"room_id": 8, "message_id": 123, "message": "I think so, too."})
def reply_to_message(turn: ActionContext, args: _ReplyArguments) -> None:
    """Say something in a room as the reply to a message there."""
    joined_room(turn, args.room_id)
    answered = visible_message(turn, args.message_id, args.room_id)
    if not is_silence(args.message):
        post_message(turn, args.room_id, args.message, answered)


@action("react", ReactArguments, {"message_id": 123, "reaction": "thumbs_up"})
def react(turn: ActionContext, args: ReactArguments) -> None:
    """React to a message; thumbs speed its author up or slow it down."""
    message = visible_message(turn, args.message_id)
    open_room(turn.world, message.room)
    if message.sender == turn.by:
        raise OperationError(f"message {message.id} is your own")
    if turn.by in message.reactions.get(args.reaction, ()):
        raise OperationError(f"you gave message {message.id} that reaction before")
    turn.effects.append(e.ReactionAdded(message.id, turn.by, args.reaction))


@action("wake_agent", WakeArguments, {"agent_id": 12})
def wake_agent(turn: ActionContext, args: WakeArguments) -> None:
    """Let the next beat of an agent in one of your rooms come at once."""
    target = neighbor(turn, args.agent_id)
    if turn.wakes_left <= 0:
        raise OperationError(f"you woke {turn.world.rules.caps.wakes} agents within a minute", hint="Let them think")
    if not turn.wake(target.id, "wake_agent"):
        raise OperationError(f"agent {target.id} is awake, and its next beat is due")


def post_message(turn: ActionContext, room_id: int, content: str, reply_to: RoomMessage | None = None) -> int:
    """Say something in a room, at the actor's pace; the message's number. Whom it names, or answers, wakes up."""
    world = turn.world
    joined_room(turn, room_id)
    content = checked_text(world, content, "the message")
    words = count_words(content)
    if not turn.free:
        _pace(turn, room_id, words)
    said = turn.say(
        room_id, content, sender=turn.by, reply_to=reply_to.id if reply_to is not None else 0, words=words
    )
    for agent in mentioned_agents(world, room_id, content):
        turn.wake(agent, "mention")
    if reply_to is not None and reply_to.sender in world.rooms[room_id].members:
        turn.wake(reply_to.sender, "reply")
    return said


def visible_message(turn: ActionContext, id: int, room: int | None = None) -> RoomMessage:
    """A message that the actor can see. Raises `OperationError`, in the same words whether it was said elsewhere,
    before the actor came, or never."""
    message = turn.world.messages.get(id)
    if message is not None and room in (None, message.room):
        joined = turn.world.rooms[message.room].joined.get(turn.by)
        if turn.free or (joined is not None and id > joined):
            return message
    raise OperationError(f"you see no message {id}" + (f" in room {room}" if room else ""))


def _pace(turn: ActionContext, room: int, words: int) -> None:
    """Take a message's words from the reply's budget for its room. Raises `OperationError` where it has no more."""
    world = turn.world
    living_agent(world, turn.by)
    if room not in turn.budgets:
        turn.budgets[room] = word_budget(world, turn.by, room, turn.now)
    allowed = turn.budgets[room] - turn.spent.get(room, 0)
    if words <= allowed:
        turn.spent[room] = turn.spent.get(room, 0) + words
        return
    free = room_words_left(world, room, turn.now)
    why = (
        f"the room has heard {world.rules.words.room_wpm - free} words within a minute"
        if free < words
        else f"the pace there is {world.rooms[room].wpm} words a minute"
    )
    seconds = seconds_until_allowed(world, turn.by, room, words, turn.now)
    raise OperationError(
        f"{words} words, and {max(0, allowed)} are allowed in room {room} now ({why})",
        hint=f"Say it shorter, or in {seconds} s" if seconds else "Say it shorter",
    )
