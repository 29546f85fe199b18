"""Actions on rooms: messages and reactions; keys, requests and admission; billboard and pace.

Keys. A key is 192 random bits. The log stores a digest of it, keyed with a salt of its own, so that nobody who reads
the log has the key; it is shown once, as a whisper, and kept nowhere. A key that is tried is compared with all keys
of the room, whole and in constant time, so that the time of an answer says nothing.
"""

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
from hudkit.rooms.allowances import due_at_pace, pending_in, room_words_left, seconds_until_allowed, word_budget
from hudkit.rooms.reply_parser import is_silence
from hudkit.rooms.world import AccessRequest, PendingMessage, RoomKey, RoomMessage, World

# -- messages ------------------------------------------------------------------------------------------------------


class _ReplyArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    message_id: PositiveId
    message: str


class _ReactArguments(ActionArguments, frozen=True):
    """The arguments of `react`."""

    message_id: PositiveId
    reaction: e.Reaction


class _WithdrawArguments(ActionArguments, frozen=True):
    """The arguments of `withdraw`."""

    pending_id: PositiveId


class _WakeArguments(ActionArguments, frozen=True):
    """The arguments of `wake_agent`."""

    agent_id: PositiveId


@action("reply", _ReplyArguments, {"room_id": 8, "message_id": 123, "message": "I think so, too."})
def _reply_to_message(context: ActionContext, args: _ReplyArguments) -> None:
    """Say something in a room as the reply to a message there."""
    joined_room(context, args.room_id)
    answered = visible_message(context, args.message_id, args.room_id)
    if not is_silence(args.message):
        post_message(context, args.room_id, args.message, answered)


@action("withdraw", _WithdrawArguments, {"pending_id": 3})
def _withdraw(context: ActionContext, args: _WithdrawArguments) -> None:
    """Take back a message of yours that waits for the pace of its room."""
    message = context.world.pending.get(args.pending_id)
    if message is None or message.sender != context.actor:
        waiting = ", ".join(map(str, context.agent.pending))
        hint = f"Those that wait: {waiting}" if waiting else "None of yours waits"
        raise OperationError(f"you have no message {args.pending_id} that waits", hint=hint)
    context.effects.append(e.MessageWithdrawn(message.id))


@action("react", _ReactArguments, {"message_id": 123, "reaction": "thumbs_up"})
def _react(context: ActionContext, args: _ReactArguments) -> None:
    """React to a message; thumbs speed its author up or slow it down."""
    message = visible_message(context, args.message_id)
    open_room(context.world, message.room)
    if message.sender == context.actor:
        raise OperationError(f"message {message.id} is your own")
    if context.actor in message.reactions.get(args.reaction, ()):
        raise OperationError(f"you gave message {message.id} that reaction before")
    context.effects.append(e.ReactionAdded(message.id, context.actor, args.reaction))


@action("wake_agent", _WakeArguments, {"agent_id": 12})
def _wake_agent(context: ActionContext, args: _WakeArguments) -> None:
    """Let the next beat of an agent in one of your rooms come at once."""
    target = neighbor(context, args.agent_id)
    if context.wakes_left <= 0:
        limit = context.world.rules.caps.wakes
        raise OperationError(f"you woke {limit} agents within a minute", hint="Let them think")
    if not context.wake(target.id, "wake_agent"):
        raise OperationError(f"agent {target.id} is awake, and its next beat is due")


def post_message(context: ActionContext, room_id: int, content: str, reply_to: RoomMessage | None = None) -> int:
    """Say something in a room, at the actor's pace, and return the message's number. Whom it names, or answers, wakes
    up.

    What exceeds the pace waits until that allows it; then 0 is returned. Raises `OperationError` where the actor is
    not there, or too much of it waits there.
    """
    world = context.world
    joined_room(context, room_id)
    content = checked_text(world, content, "the message")
    words = _count_words(content)
    answered_id = reply_to.id if reply_to is not None else 0
    if not context.is_architect and not _spend_words(context, room_id, words):
        _delay(context, room_id, content, answered_id, words)
        return 0
    return _post(context, room_id, content, reply_to, words)


def post_pending(context: ActionContext, message: PendingMessage) -> None:
    """Post a message that waited, or withdraw it where its author cannot say it any more."""
    room = context.world.rooms[message.room]
    if context.actor not in room.members:
        context.effects.append(e.MessageWithdrawn(message.id, "its author left the room"))
    elif context.world.agents[room.id].retired:
        context.effects.append(e.MessageWithdrawn(message.id, "the room is closed"))
    else:
        answered = context.world.messages.get(message.reply_to)
        _post(context, message.room, message.content, answered, message.words, message.id)


def _post(
    context: ActionContext, room_id: int, content: str, reply_to: RoomMessage | None, words: int, pending: int = 0
) -> int:
    """Post a message and wake whom it names or answers; return its number."""
    world = context.world
    answered_id = reply_to.id if reply_to is not None else 0
    id = context.post(room_id, content, sender=context.actor, reply_to=answered_id, words=words, pending=pending)
    # After the message is among the effects: who wakes finds it.
    for agent in mentioned_agents(world, room_id, content):
        context.wake(agent, "mention")
    if reply_to is not None and reply_to.sender in world.rooms[room_id].members:
        context.wake(reply_to.sender, "reply")
    return id


def visible_message(context: ActionContext, id: int, room: int | None = None) -> RoomMessage:
    """Return a message that the actor can see.

    Raises `OperationError`, in the same words whether it was said elsewhere, before the actor came, or never.
    """
    message = context.world.messages.get(id)
    if message is not None and room in (None, message.room):
        joined_after = context.world.rooms[message.room].joined_after.get(context.actor)
        if context.is_architect or (joined_after is not None and id > joined_after):
            return message
    raise OperationError(f"you see no message {id}" + (f" in room {room}" if room else ""))


def _delay(context: ActionContext, room: int, content: str, reply_to: int, words: int) -> None:
    """Let a message wait until its author's pace allows it. Raises `OperationError` where too many wait there."""
    world, limit = context.world, context.world.rules.caps.pending
    if len(pending_in(world, context.actor, room)) >= limit:
        raise OperationError(
            f"{limit} messages of yours wait in room {room}", hint="Withdraw one, or let them go first"
        )
    spent, spoke_at = context.words_spent.get(room, 0), context.spoke_at[room]
    due = due_at_pace(world, context.actor, room, words, spent, spoke_at, context.now)
    context.effects.append(
        e.MessageDelayed(world.next_pending, room, context.actor, content, due, reply_to, words, context.beat)
    )


def _spend_words(context: ActionContext, room: int, words: int) -> bool:
    """Take a message's words from the reply's budget for its room; return `False` where it has no more.

    The budget is worked out once a reply. Else its first message would set the pace's clock back, and its second one
    would wait. In a world of the first revision a message that exceeds it is refused: raises `OperationError`.
    """
    world = context.world
    living_agent(world, context.actor)
    if room not in context.word_budgets:
        context.word_budgets[room] = word_budget(world, context.actor, room, context.now)
        context.spoke_at[room] = world.agents[context.actor].spoke_at.get(room)
    spent = context.words_spent.get(room, 0)
    allowed = context.word_budgets[room] - spent
    if words <= allowed and not pending_in(world, context.actor, room):
        context.words_spent[room] = spent + words
        return True
    if world.revision >= 2:
        return False
    room_left = room_words_left(world, room, context.now)
    if room_left < words:
        why = f"the room has heard {world.rules.words.room_wpm - room_left} words within a minute"
    else:
        why = f"the pace there is {world.rooms[room].wpm} words a minute"
    seconds = seconds_until_allowed(world, context.actor, room, words, context.now)
    raise OperationError(
        f"{words} words, and {max(0, allowed)} are allowed in room {room} now ({why})",
        hint=f"Say it shorter, or in {seconds} s" if seconds else "Say it shorter",
    )


_MAX_MENTION_CHARACTERS = 500
"""Characters behind an @ that can be a name."""


def mentioned_agents(world: World, room: int, content: str) -> tuple[int, ...]:
    """Return the agents of a room that a message names (`@Name` or `@8`), each once, in the order of their names in
    it.

    Of names that begin alike the longest counts; case does not.
    """
    if "@" not in content:
        return ()
    # Of this room only: a name elsewhere must not be found out by trying it.
    names = _member_names(world, room)
    folded = content.casefold()
    mentioned: dict[int, None] = {}
    start = folded.find("@")
    while start >= 0:
        if not folded[max(0, start - 1) : start].isalnum():  # else it is an address of mail
            rest = folded[start + 1 : start + 1 + _MAX_MENTION_CHARACTERS]
            for name, id in names:
                if rest.startswith(name) and not rest[len(name) : len(name) + 1].isalnum():
                    mentioned[id] = None
                    break
        start = folded.find("@", start + 1)
    return tuple(mentioned)


def _member_names(world: World, room: int) -> list[tuple[str, int]]:
    """Return what the agents of a room may be called, with their numbers, the longest name first."""
    agents = [world.agents[id] for id in world.rooms[room].members if id in world.agents]
    names = [(agent.name.casefold(), agent.id) for agent in agents] + [(str(agent.id), agent.id) for agent in agents]
    return sorted(names, key=lambda name_and_id: -len(name_and_id[0]))


# -- keys and access -----------------------------------------------------------------------------------------------

_Label = Annotated[str, Meta(max_length=50)]

REFUSED = "there is no such room, or the key does not fit"
"""One answer for both, and for a room that is closed."""

LOCKED = "too many wrong keys within a minute"

_KEY_PREFIX = "hudroom_"
"""How a key begins; `log.redact` knows it, so that no log holds one."""


class _CreateKeyArguments(ActionArguments, frozen=True):
    label: _Label = ""
    key: _Label = ""  # 003's name for it
    uses: Annotated[int, Meta(ge=0, le=1000)] = 0
    for_agent: PositiveId | None = None


class _RevokeKeyArguments(ActionArguments, frozen=True):
    """The arguments of `revoke_key`; `key` is 003's name for the label."""

    label: _Label = ""
    key: _Label = ""


class _RequestAccessArguments(ActionArguments, frozen=True):
    room_id: PositiveId
    key: Annotated[str, Meta(max_length=200)]


class _AccessDecisionArguments(ActionArguments, frozen=True):
    """The arguments of `grant_access` and `deny_access`."""

    request_id: PositiveId


class _LeaveArguments(ActionArguments, frozen=True):
    room_id: PositiveId


@action("create_key", _CreateKeyArguments, {"label": "friends", "uses": 3, "for_agent": 9})
def _create_key(context: ActionContext, args: _CreateKeyArguments) -> None:
    """Have a key made for your room. It is shown once, to `for_agent` or to you; `label` names it."""
    make_key(context, args.label or args.key, args.uses, args.for_agent)


def make_key(context: ActionContext, label: str, uses: int = 0, for_agent: int | None = None) -> str:
    """Make a key for the actor's room, whisper it to an agent (to the actor, where none is named), and return it.

    Raises `OperationError` for a label that is taken or cannot be one, and where the room has too many keys.
    """
    room, limit = context.own_room, context.world.rules.caps.keys
    label = label.strip()
    if not label or visible(label) != label:
        raise OperationError(f"{visible(label)!r} cannot be a key's label", hint="Letters that can be seen")
    if any(key.label == label for key in room.keys):
        raise OperationError(f"your room has a key {label!r}", hint="Choose another label, or revoke that key first")
    if len(room.keys) >= limit:
        raise OperationError(f"your room has {limit} keys", hint="Revoke one first")
    owner = context.acting_as
    reader = owner if for_agent is None or for_agent == owner else neighbor(context, for_agent).id
    # A salt of its own for each key: equal keys could not be told by equal digests.
    key, salt = _KEY_PREFIX + context.secret(), context.secret()
    context.effects.append(e.KeyCreated(room.id, label, key_digest(key, salt), salt, uses, context.other_actor))
    use = f'{{"type": "request_access", "room_id": {room.id}, "key": "{key}"}}'
    whose = "your room" if reader == owner else f"room {room.id}, from {display_name(context.world, owner)}"
    context.whispers.append((reader, f"A key ({label}) to {whose}, shown only now and kept nowhere: {use}"))
    return key


@action("revoke_key", _RevokeKeyArguments, {"label": "friends"})
def _revoke_key(context: ActionContext, args: _RevokeKeyArguments) -> None:
    """Make a key of your room, named by its label, useless."""
    room, label = context.own_room, args.label or args.key
    if all(key.label != label for key in room.keys):
        labels = ", ".join(key.label for key in room.keys) or "none"
        raise OperationError("your room has no key of that label", hint=f"Labels: {labels}")
    context.effects.append(e.KeyRevoked(room.id, label, context.other_actor))


@action("request_access", _RequestAccessArguments, {"room_id": 8, "key": "(the key that you were given)"})
def _request_access(context: ActionContext, args: _RequestAccessArguments) -> None:
    """Ask to come into a room whose key you have."""
    world, id = context.world, args.room_id
    room = world.rooms.get(id)
    if room is not None and context.actor in room.members:
        raise OperationError(f"you are in room {id}")
    if room is not None and any(world.requests[request].agent == context.actor for request in room.requests):
        raise OperationError(f"you asked for room {id} before; wait for the answer")
    # A room that is locked stays open to who holds its key and did not guess: or anybody could shut it for ever.
    # Nothing is to be learnt by that: whoever guesses wrong there is locked out at once, before another key is
    # looked at, the answer is the same for a room that is not there, and all keys are compared, whole, each time.
    limit = world.rules.caps.guesses
    own_guesses = _within_a_minute(context, world.failures.get(context.actor, ()))
    room_guesses = _within_a_minute(context, world.locks.get(id, ()))
    room_locked = room_guesses >= limit
    if own_guesses >= (1 if room_locked else limit):
        raise OperationError(LOCKED, hint="Wait a minute")
    closed = room is None or world.agents[id].retired
    label = find_matching_key(_NO_KEYS if room is None else room.keys or _NO_KEYS, args.key.strip())
    if closed or not label or room is None:
        locked = max(own_guesses, room_guesses) + 1 >= limit
        context.effects_if_refused.append(e.AccessFailed(id, context.actor, locked=locked))
        raise OperationError(LOCKED, hint="Wait a minute") if room_locked else OperationError(REFUSED)
    context.effects.append(e.AccessRequested(world.next_request, id, context.actor, label))
    context.post(id, f"{display_name(world, context.actor)} asks to come in (request {world.next_request}).")


@action("grant_access", _AccessDecisionArguments, {"request_id": 42})
def _grant_access(context: ActionContext, args: _AccessDecisionArguments) -> None:
    """Let one who asked into your room."""
    request = _open_request(context, args.request_id)
    context.effects.append(e.AccessGranted(request.id, context.actor))
    if request.agent not in context.world.rooms[request.room].members:  # else it came in another way meanwhile
        enter_room(context, request.room, request.agent)
    context.wake(request.agent, "admission")


@action("deny_access", _AccessDecisionArguments, {"request_id": 42})
def _deny_access(context: ActionContext, args: _AccessDecisionArguments) -> None:
    """Do not let one who asked into your room."""
    close_request(context, _open_request(context, args.request_id))


@action("leave_room", _LeaveArguments, {"room_id": 8})
def _leave_room(context: ActionContext, args: _LeaveArguments) -> None:
    """Leave a room; not your own."""
    room = context.world.rooms.get(args.room_id)
    if room is None or context.acting_as not in room.members:
        joined_room(context, args.room_id)
        raise OperationError(f"agent {context.acting_as} is not in room {args.room_id}")
    if room.id == context.acting_as:
        raise OperationError("you cannot leave your own room")
    remove_from_room(context, room.id, context.acting_as)


def enter_room(context: ActionContext, room: int, agent: int) -> None:
    """Let an agent into a room, and say so to all members."""
    context.effects.append(e.RoomJoined(room, agent, context.actor))
    context.post(room, f"{display_name(context.world, agent)} came in.")


def remove_from_room(context: ActionContext, room: int, agent: int) -> None:
    """Have an agent leave a room, and say so to those who stay."""
    context.effects.append(e.RoomLeft(room, agent))
    context.post(room, f"{display_name(context.world, agent)} left.")


def close_request(context: ActionContext, request: AccessRequest) -> None:
    """Deny a request, and say so to the one who asked, in its own room."""
    context.effects.append(e.AccessDenied(request.id, context.actor))
    context.post(request.agent, f"Your request to come into room {request.room} was denied.")


def key_digest(key: str, salt: str) -> str:
    """Return what is stored of a key: 64 hexadecimal digits."""
    return blake2b(key.encode("utf-8", "replace"), key=salt.encode()[:64], digest_size=32).hexdigest()


def find_matching_key(keys: Iterable[RoomKey], key: str) -> str | None:
    """Return the label of the key that fits. All are compared, whole, whichever fits: time must not tell."""
    label = None
    for room_key in keys:
        if compare_digest(key_digest(key, room_key.salt), room_key.digest):
            label = room_key.label
    return label


# What a key is compared with where there is none, so that the answer takes as long.
_NO_KEYS = (RoomKey("", key_digest("", "0"), "0"),)


def _open_request(context: ActionContext, id: int) -> AccessRequest:
    """Return an open request for the actor's room. Raises `OperationError` in the same words for another room's."""
    request = context.world.requests.get(id)
    if request is None or (not context.is_architect and request.room != context.actor):
        raise OperationError(f"your room has no open request {id}")
    return request


def _within_a_minute(context: ActionContext, times: Iterable[int]) -> int:
    return sum(time > context.now - MINUTE for time in times)


# -- one's own room ------------------------------------------------------------------------------------------------


class _BillboardArguments(ActionArguments, frozen=True):
    """The arguments of `set_billboard`."""

    message: str


class _NoArguments(ActionArguments, frozen=True):
    """The arguments of an action that has none."""


class _WpmArguments(ActionArguments, frozen=True):
    """The arguments of `set_wpm`."""

    wpm: int


@action("set_billboard", _BillboardArguments, {"message": "Ideas about memory are welcome here"})
def _set_billboard(context: ActionContext, args: _BillboardArguments) -> None:
    """Write on the billboard of your room, which all its members see."""
    room = context.own_room
    text = checked_text(context.world, args.message, "the billboard")
    context.effects.append(e.BillboardSet(room.id, text, context.other_actor))


@action("clear_billboard", _NoArguments)
def _clear_billboard(context: ActionContext, _: _NoArguments) -> None:
    """Take the billboard of your room down."""
    room = context.own_room
    if not room.billboard:
        raise OperationError("there is nothing on your billboard")
    context.effects.append(e.BillboardSet(room.id, "", context.other_actor))


@action("set_wpm", _WpmArguments, {"wpm": 80})
def _set_wpm(context: ActionContext, args: _WpmArguments) -> None:
    """Set how many words a minute one may say in your room."""
    room, rules = context.own_room, context.world.rules.words
    if not rules.min_wpm <= args.wpm <= rules.max_wpm:
        raise OperationError(f"{args.wpm} words a minute", hint=f"{rules.min_wpm} to {rules.max_wpm}")
    context.effects.append(e.WpmSet(room.id, args.wpm))


def _count_words(text: str) -> int:
    """Return the words of a message."""
    return len(text.split())
