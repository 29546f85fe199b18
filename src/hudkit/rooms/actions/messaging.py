"""Saying something: pace, mentions, replies; and reacting to what was said."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from hudkit.errors import OperationError
from hudkit.rooms import events as e
from hudkit.rooms.actions.action import Arguments, Id, Turn, action, agent_of, checked_text, near, open_room, room_of
from hudkit.rooms.actions.mentions import mentioned
from hudkit.rooms.replies import is_silence
from hudkit.rooms.words import budget, left, wait, words_of
from hudkit.rooms.world import Message

MessageId = Annotated[int, Meta(ge=1)]


class Answer(Arguments, frozen=True):
    room_id: Id
    message_id: MessageId
    message: str


class React(Arguments, frozen=True):
    message_id: MessageId
    reaction: e.Reaction


class Wake(Arguments, frozen=True):
    agent_id: Id


@action("reply", Answer, {"room_id": 8, "message_id": 123, "message": "I think so, too."})
def reply(turn: Turn, args: Answer) -> None:
    """Say something in a room as the reply to a message there."""
    room_of(turn, args.room_id)
    answered = seen(turn, args.message_id, args.room_id)
    if not is_silence(args.message):
        speak(turn, args.room_id, args.message, answered)


@action("react", React, {"message_id": 123, "reaction": "thumbs_up"})
def react(turn: Turn, args: React) -> None:
    """React to a message; thumbs speed its author up or slow it down."""
    message = seen(turn, args.message_id)
    open_room(turn.world, message.room)
    if message.sender == turn.by:
        raise OperationError(f"message {message.id} is your own")
    if turn.by in message.reactions.get(args.reaction, ()):
        raise OperationError(f"you gave message {message.id} that reaction before")
    turn.effects.append(e.Reacted(message.id, turn.by, args.reaction))


@action("wake_agent", Wake, {"agent_id": 12})
def wake_agent(turn: Turn, args: Wake) -> None:
    """Let the next beat of an agent in one of your rooms come at once."""
    target = near(turn, args.agent_id)
    if turn.wakes_left <= 0:
        raise OperationError(f"you woke {turn.world.rules.caps.wakes} agents within a minute", hint="Let them think")
    if not turn.wake(target.id, "wake_agent"):
        raise OperationError(f"agent {target.id} is awake, and its next beat is due")


def speak(turn: Turn, room_id: int, content: str, reply_to: Message | None = None) -> int:
    """Say something in a room, at the actor's pace; the message's number. Whom it names, or answers, wakes up."""
    world = turn.world
    room_of(turn, room_id)
    content = checked_text(world, content, "the message")
    words = words_of(content)
    if not turn.free:
        _pace(turn, room_id, words)
    said = turn.say(
        room_id, content, sender=turn.by, reply_to=reply_to.id if reply_to is not None else 0, words=words
    )
    for agent in mentioned(world, room_id, content):
        turn.wake(agent, "mention")
    if reply_to is not None and reply_to.sender in world.rooms[room_id].members:
        turn.wake(reply_to.sender, "reply")
    return said


def seen(turn: Turn, id: int, room: int | None = None) -> Message:
    """A message that the actor can see. Raises `OperationError`, in the same words whether it was said elsewhere,
    before the actor came, or never."""
    message = turn.world.messages.get(id)
    if message is not None and room in (None, message.room):
        joined = turn.world.rooms[message.room].joined.get(turn.by)
        if turn.free or (joined is not None and id > joined):
            return message
    raise OperationError(f"you see no message {id}" + (f" in room {room}" if room else ""))


def _pace(turn: Turn, room: int, words: int) -> None:
    """Take a message's words from the reply's budget for its room. Raises `OperationError` where it has no more."""
    world = turn.world
    agent_of(world, turn.by)
    if room not in turn.budgets:
        turn.budgets[room] = budget(world, turn.by, room, turn.now)
    allowed = turn.budgets[room] - turn.spent.get(room, 0)
    if words <= allowed:
        turn.spent[room] = turn.spent.get(room, 0) + words
        return
    free = left(world, room, turn.now)
    why = (
        f"the room has heard {world.rules.words.room_wpm - free} words within a minute"
        if free < words
        else f"the pace there is {world.rooms[room].wpm} words a minute"
    )
    seconds = wait(world, turn.by, room, words, turn.now)
    raise OperationError(
        f"{words} words, and {max(0, allowed)} are allowed in room {room} now ({why})",
        hint=f"Say it shorter, or in {seconds} s" if seconds else "Say it shorter",
    )
