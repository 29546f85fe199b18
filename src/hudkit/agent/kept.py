"""One session's messages: written to the store first, and then kept in memory, so that a step reads nothing again."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from hudkit.agent.records import Call, Message, Part
from hudkit.agent.store import SessionStore
from hudkit.agent.view import visible


class Kept:
    """The messages of a claimed session. What a method was given is durable when it returns."""

    def __init__(self, store: SessionStore, session_id: str) -> None:
        self.store = store
        self.session_id = session_id
        self._messages: dict[str, Message] = {}
        self._call_ids: set[str] = set()
        self._read()

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages.values())

    @property
    def last(self) -> Message | None:
        return next(reversed(self._messages.values()), None)

    def visible(self) -> tuple[Message, ...]:
        """The messages of the next model call."""
        return visible(self.messages)

    def message(self, id: str) -> Message:
        return self._messages[id]

    def put(self, message: Message) -> Message:
        """Store a message's head and the parts that it has; the message with all its parts."""
        self.store.put(message)
        known = self._messages.get(message.id)
        parts = _merged(known.parts if known else (), message.parts)
        self._messages[message.id] = whole = replace(message, parts=parts)
        return whole

    def put_parts(self, message_id: str, parts: Iterable[Part]) -> Message:
        new = tuple(parts)
        self.store.put_parts(self.session_id, message_id, new)
        known = self._messages[message_id]
        self._messages[message_id] = whole = replace(known, parts=_merged(known.parts, new))
        self._call_ids.update(part.call_id for part in new if isinstance(part, Call))
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


def calls_of(message: Message) -> tuple[Call, ...]:
    return tuple(part for part in message.parts if isinstance(part, Call))


def _merged(old: tuple[Part, ...], new: tuple[Part, ...]) -> tuple[Part, ...]:
    parts = {part.id: part for part in old}
    parts.update((part.id, part) for part in new)
    return tuple(parts.values())
