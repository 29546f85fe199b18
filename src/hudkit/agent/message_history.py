"""One session's messages: written to the store first, and then kept in memory, so that a step reads nothing again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from hudkit.agent.records import (
    Attachment,
    CompactionMarker,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredReasoning,
    StoredText,
)
from hudkit.agent.session_store import SessionStore
from hudkit.sections.call_history import CompactionHistory, PastCompaction


def compaction_marker(message: StoredMessage) -> CompactionMarker | None:
    """The part that makes a user message a request to compact."""
    if message.role != "user":
        return None
    return next((part for part in message.parts if isinstance(part, CompactionMarker)), None)


def is_summary(message: StoredMessage) -> bool:
    """A summary that was finished: what it covers is no longer sent."""
    return message.summary and bool(message.finish) and not message.error


def visible_messages(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """The messages that the next model call is made of."""
    for at in range(len(messages) - 1, -1, -1):
        if not is_summary(messages[at]):
            continue
        asked = _index_before(messages, at, messages[at].parent_id)
        marker = compaction_marker(messages[asked]) if asked is not None else None
        if asked is None or marker is None:
            continue
        kept = _index_before(messages, asked, marker.tail_from)
        tail = messages[asked if kept is None else kept : asked]
        rest = (*messages[asked + 1 : at], *messages[at + 1 :])
        return (messages[asked], messages[at], *_without_failed(tail), *_without_failed(rest))
    return tuple(_without_failed(messages))


def pending_compaction(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """The marker that nothing has answered yet, where it is the last message."""
    last = messages[-1] if messages else None
    return last if last is not None and compaction_marker(last) is not None else None


def last_finished(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """The last response since the last compaction that told its usage: what it says is how full the window is."""
    for message in reversed(messages):
        if is_summary(message):
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message
    return None


def compaction_rounds(messages: Sequence[StoredMessage], limit: int) -> CompactionHistory:
    """What the compactions of a session freed: the tokens in use before each, and first after it."""
    found: list[PastCompaction] = []
    used: int | None = None
    calls = 0
    for place, message in enumerate(messages):
        if is_summary(message):
            if found and found[-1].after is None and used is None:
                continue  # a second summary for the same marker
            found.append(PastCompaction(place, used, None, limit, calls))
            used = None
        elif message.role == "assistant" and not message.summary and message.usage is not None:
            used = message.usage.used
            calls += 1
            if found and found[-1].after is None:
                found[-1] = replace(found[-1], after=used)
    return CompactionHistory(tuple(found), calls, used, limit)


def last_user_prompt(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """The last message that the user wrote; markers and what the host wrote are not the user's."""
    for message in reversed(messages):
        if message.role == "user" and any(is_users_own(part) for part in message.parts):
            return message
    return None


def is_users_own(part: object) -> bool:
    """Whether a part is the user's own words or file."""
    return isinstance(part, Attachment) or (isinstance(part, StoredText) and not part.synthetic and not part.ignored)


def is_turn_unfinished(messages: Sequence[StoredMessage]) -> bool:
    """Whether the turn that the messages end in still has to go on: a response to come after a prompt or results."""
    for message in reversed(messages):
        if compaction_marker(message) is not None or message.summary or (message.error and not message.aborted):
            continue
        if message.role == "user":
            return True
        return message.finish in ("tool-calls", "compact") or (message.aborted and not message.finish)
    return False


def answered_since_compaction(messages: Sequence[StoredMessage]) -> bool:
    """Whether a response ended since the last compaction, or there was none yet: else another one cannot help."""
    for message in reversed(messages):
        if is_summary(message):
            return False
        if message.role == "assistant" and message.finish and not message.error:
            return True
    return True


def message_size(message: StoredMessage) -> int:
    """Characters that a message contributes to a request, about."""
    total = 0
    for part in message.parts:
        match part:
            case StoredText(text=text) | StoredReasoning(text=text):
                total += len(text)
            case StoredCall():
                body = 60 if part.compacted else len(part.output) + len(part.error)
                total += (
                    body + len(part.tool) + sum(len(str(value)) + len(key) for key, value in part.arguments.items())
                )
            case Attachment():
                total += 4_000 if part.data else 100
            case _:
                pass
    return total


def recent_tail(messages: Sequence[StoredMessage], room: int) -> tuple[StoredMessage, ...]:
    """The newest of the messages that are kept as they are: as many as fit in `room` characters, never all.

    It begins with a message of the user where one is among them, so that no answer stands without its question.
    """
    start, left = len(messages), room
    while start > 0:
        one = messages[start - 1]
        if is_summary(one) or compaction_marker(one) is not None or message_size(one) > left:
            break
        left -= message_size(one)
        start -= 1
    if start == 0:
        start = 1
    asked = next((at for at in range(start, len(messages)) if messages[at].role == "user"), start)
    return tuple(messages[asked:])


def _without_failed(messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    return [
        message
        for message in messages
        if not message.summary and compaction_marker(message) is None and not (message.error and not message.aborted)
    ]


def _index_before(messages: Sequence[StoredMessage], end: int, id: str) -> int | None:
    return next((at for at in range(end - 1, -1, -1) if messages[at].id == id), None) if id else None


class MessageHistory:
    """The messages of a claimed session. What a method was given is durable when it returns."""

    def __init__(self, store: SessionStore, session_id: str) -> None:
        self.store = store
        self.session_id = session_id
        self._messages: dict[str, StoredMessage] = {}
        self._call_ids: set[str] = set()
        self._read()

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        return tuple(self._messages.values())

    @property
    def last(self) -> StoredMessage | None:
        return next(reversed(self._messages.values()), None)

    def visible(self) -> tuple[StoredMessage, ...]:
        """The messages of the next model call."""
        return visible_messages(self.messages)

    def message(self, id: str) -> StoredMessage:
        return self._messages[id]

    def put(self, message: StoredMessage) -> StoredMessage:
        """Store a message's head and the parts that it has; the message with all its parts."""
        self.store.put(message)
        known = self._messages.get(message.id)
        parts = _merge_parts(known.parts if known else (), message.parts)
        self._messages[message.id] = whole = replace(message, parts=parts)
        return whole

    def put_parts(self, message_id: str, parts: Iterable[StoredPart]) -> StoredMessage:
        new = tuple(parts)
        self.store.put_parts(self.session_id, message_id, new)
        known = self._messages[message_id]
        self._messages[message_id] = whole = replace(known, parts=_merge_parts(known.parts, new))
        self._call_ids.update(part.call_id for part in new if isinstance(part, StoredCall))
        return whole

    def cut(self, message_id: str, now: int) -> int:
        """Take away a message and all that came after it."""
        count = self.store.cut(self.session_id, message_id, now)
        self._read()
        return count

    def fresh_call_id(self, wanted: str) -> str:
        """An id for a call that no call of the session has; models repeat them."""
        id, number = wanted or "call", 1
        while id in self._call_ids:
            number += 1
            id = f"{wanted or 'call'}-{number}"
        self._call_ids.add(id)
        return id

    def _read(self) -> None:
        self._messages = {message.id: message for message in self.store.messages(self.session_id)}
        self._call_ids = {call.call_id for message in self._messages.values() for call in calls_of(message)}


def calls_of(message: StoredMessage) -> tuple[StoredCall, ...]:
    return tuple(part for part in message.parts if isinstance(part, StoredCall))


def _merge_parts(old: tuple[StoredPart, ...], new: tuple[StoredPart, ...]) -> tuple[StoredPart, ...]:
    parts = {part.id: part for part in old}
    parts.update((part.id, part) for part in new)
    return tuple(parts.values())
