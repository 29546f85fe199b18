"""Which stored messages are in the window, and what state a session is in by its messages alone. Pure.

After a finished compaction that is: the marker, the summary, the tail that was kept, and what came after the marker
(the rule of `hudkit.transcripts.window`). Left out: responses that an error ended, compactions that came to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from hudkit.agent.records import Call, File, Marker, Message, Reasoning, Text
from hudkit.sections.rounds import Round, Rounds


def marker_of(message: Message) -> Marker | None:
    """The part that makes a user message a request to compact."""
    if message.role != "user":
        return None
    return next((part for part in message.parts if isinstance(part, Marker)), None)


def is_summary(message: Message) -> bool:
    """A summary that was finished: what it covers is no longer sent."""
    return message.summary and bool(message.finish) and not message.error


def visible(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that the next model call is made of."""
    for at in range(len(messages) - 1, -1, -1):
        if not is_summary(messages[at]):
            continue
        asked = _place(messages, at, messages[at].parent_id)
        marker = marker_of(messages[asked]) if asked is not None else None
        if asked is None or marker is None:
            continue
        kept = _place(messages, asked, marker.tail_from)
        tail = messages[asked if kept is None else kept : asked]
        rest = (*messages[asked + 1 : at], *messages[at + 1 :])
        return (messages[asked], messages[at], *_sent(tail), *_sent(rest))
    return tuple(_sent(messages))


def pending(messages: Sequence[Message]) -> Message | None:
    """The marker that nothing has answered yet, where it is the last message."""
    last = messages[-1] if messages else None
    return last if last is not None and marker_of(last) is not None else None


def last_finished(messages: Sequence[Message]) -> Message | None:
    """The last response since the last compaction that told its usage: what it says is how full the window is."""
    for message in reversed(messages):
        if is_summary(message):
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message
    return None


def rounds_of(messages: Sequence[Message], limit: int) -> Rounds:
    """What the compactions of a session freed: the tokens in use before each, and first after it."""
    found: list[Round] = []
    used: int | None = None
    calls = 0
    for place, message in enumerate(messages):
        if is_summary(message):
            if found and found[-1].after is None and used is None:
                continue  # a second summary for the same marker
            found.append(Round(place, used, None, limit, calls))
            used = None
        elif message.role == "assistant" and not message.summary and message.usage is not None:
            used = message.usage.used
            calls += 1
            if found and found[-1].after is None:
                found[-1] = replace(found[-1], after=used)
    return Rounds(tuple(found), calls, used, limit)


def last_asked(messages: Sequence[Message]) -> Message | None:
    """The last message that the user wrote; markers and what the host wrote are not the user's."""
    for message in reversed(messages):
        if message.role == "user" and any(is_own(part) for part in message.parts):
            return message
    return None


def is_own(part: object) -> bool:
    """Whether a part is the user's own words or file."""
    return isinstance(part, File) or (isinstance(part, Text) and not part.synthetic and not part.ignored)


def under_way(messages: Sequence[Message]) -> bool:
    """Whether the turn that the messages end in still has to go on: a response to come after a prompt or results."""
    for message in reversed(messages):
        if marker_of(message) is not None or message.summary or (message.error and not message.aborted):
            continue
        if message.role == "user":
            return True
        return message.finish in ("tool-calls", "compact") or (message.aborted and not message.finish)
    return False


def answered_since_compaction(messages: Sequence[Message]) -> bool:
    """Whether a response ended since the last compaction, or there was none yet: else another one cannot help."""
    for message in reversed(messages):
        if is_summary(message):
            return False
        if message.role == "assistant" and message.finish and not message.error:
            return True
    return True


def size_of(message: Message) -> int:
    """Characters that a message contributes to a request, about."""
    total = 0
    for part in message.parts:
        match part:
            case Text(text=text) | Reasoning(text=text):
                total += len(text)
            case Call():
                body = 60 if part.compacted else len(part.output) + len(part.error)
                total += (
                    body + len(part.tool) + sum(len(str(value)) + len(key) for key, value in part.arguments.items())
                )
            case File():
                total += 4_000 if part.data else 100
            case _:
                pass
    return total


def tail_of(messages: Sequence[Message], room: int) -> tuple[Message, ...]:
    """The newest of the messages that are kept as they are: as many as fit in `room` characters, never all.

    It begins with a message of the user where one is among them, so that no answer stands without its question.
    """
    start, left = len(messages), room
    while start > 0:
        one = messages[start - 1]
        if is_summary(one) or marker_of(one) is not None or size_of(one) > left:
            break
        left -= size_of(one)
        start -= 1
    if start == 0:
        start = 1
    asked = next((at for at in range(start, len(messages)) if messages[at].role == "user"), start)
    return tuple(messages[asked:])


def _sent(messages: Sequence[Message]) -> list[Message]:
    return [
        message
        for message in messages
        if not message.summary and marker_of(message) is None and not (message.error and not message.aborted)
    ]


def _place(messages: Sequence[Message], end: int, id: str) -> int | None:
    return next((at for at in range(end - 1, -1, -1) if messages[at].id == id), None) if id else None
