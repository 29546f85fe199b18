"""One session's messages in memory, and what follows from them alone: what is in the window, what is to be done next.

After a finished compaction the window holds the marker that asked for it, the summary, the tail that was kept word
for word, and what came after the marker (the rule of `hudkit.transcripts.window_at`). Left out are responses that an
error ended and compactions that came to nothing. An example, with the marker's `tail_from` = u2:

    stored:   u1 a1 u2 a2 marker summary u3 a3        window:   marker summary u2 a2 u3 a3

In a session that is trimmed instead (`trimming`), it holds the tail that the last trim left and what came after it.
In front is what that trim says: in the first message where that is the user's, else as a message of its own:

    stored:   u1 a1 u2 a2 trim u3 a3                  window:   trim+u2 a2 u3 a3
    stored:   u1 a1 a2 a3 trim a4                     window:   trim a3 a4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import takewhile

from msgspec.structs import replace

from hudkit.agent.records import (
    Attachment,
    CompactionMarker,
    StoredCall,
    StoredMessage,
    StoredPart,
    StoredReasoning,
    StoredText,
    Todo,
    TrimMarker,
)
from hudkit.agent.session_store import SessionStore
from hudkit.compose import visible
from hudkit.context.compaction.cut_point import cut_point
from hudkit.context.window_budget import MessageSize

_PRUNED_CHARACTERS = 60
"""What stands in a request for an output that was pruned, about."""

_MEDIA_CHARACTERS = 4_000
"""What an attached image or document counts for, about: providers take some thousand tokens for one."""

_NAMED_FILE_CHARACTERS = 100
"""What the name of a file that is not sent itself counts for, about."""


class MessageHistory:
    """The messages of a locked session: written to the store first, and kept in memory.

    So no step reads them again. What a method was given is durable when it returns.
    """

    def __init__(
        self, store: SessionStore, session_id: str, announce: Callable[[StoredMessage], object] | None = None
    ) -> None:
        """`announce` is called with each message that is put and each response that grows, as it will be, while it is
        stored: who works beside the session need not wait for the disk."""
        self.store = store
        self.session_id = session_id
        self._announce = announce
        self._messages: dict[str, StoredMessage] = {}
        self._call_ids: set[str] = set()
        self._read()

    @property
    def messages(self) -> tuple[StoredMessage, ...]:
        """Return all messages, in order."""
        return tuple(self._messages.values())

    @property
    def last(self) -> StoredMessage | None:
        """Return the last message; `None` where there is none."""
        return next(reversed(self._messages.values()), None)

    def visible(self) -> tuple[StoredMessage, ...]:
        """Return the messages of the next model call."""
        return visible_messages(self.messages)

    def message(self, id: str) -> StoredMessage:
        """Return a message by its id. Raises `KeyError`."""
        return self._messages[id]

    def put(self, message: StoredMessage) -> StoredMessage:
        """Store a message's head and the parts that it has; return the message with all its parts."""
        stored = self._messages.get(message.id)
        whole = replace(message, parts=_merge_parts(stored.parts if stored else (), message.parts))
        self.store.put(message, beside=self._announcement(whole))
        self._messages[message.id] = whole
        return whole

    def put_parts(self, message_id: str, parts: Iterable[StoredPart]) -> StoredMessage:
        """Store parts of a message, new ones or changed ones; return the message with all its parts."""
        new = tuple(parts)
        stored = self._messages[message_id]
        whole = replace(stored, parts=_merge_parts(stored.parts, new))
        # of one that has ended, only what is sent of it changes
        beside = self._announcement(whole) if stored.open else None
        self.store.put_parts(self.session_id, message_id, new, beside=beside)
        self._messages[message_id] = whole
        self._call_ids.update(part.call_id for part in new if isinstance(part, StoredCall))
        return whole

    def _announcement(self, message: StoredMessage) -> Callable[[], object] | None:
        return partial(self._announce, message) if self._announce is not None else None

    def messages_after(self, id: str) -> tuple[StoredMessage, ...] | None:
        """Return the messages from behind the one with this id (empty: all); `None` where it is not there."""
        messages = self.messages  # at once: another thread may ask
        newest = tuple(takewhile(lambda message: message.id != id, reversed(messages)))
        if id and len(newest) == len(messages):
            return None
        return newest[::-1]

    def take_back(self, message_id: str, now: int) -> int:
        """Take back a message and all that came after it; return how many messages that were."""
        count = self.store.take_back(self.session_id, message_id, now)
        self._read()
        return count

    def restore_outputs(self, since: int) -> None:
        """Put outputs back into the window that left it at this time (Unix ms) or later; return nothing."""
        for message in self.messages:
            restored = [replace(call, compacted=0) for call in calls_of(message) if call.compacted >= since]
            if restored:
                self.put_parts(message.id, restored)

    def bring_back(self, until: str, now: int) -> None:
        """Show messages that were taken back, up to before the one with the id `until` (empty: all)."""
        self.store.bring_back(self.session_id, until, now)
        self._read()

    def new_call_id(self, wanted: str) -> str:
        """Return an id for a call that no call of the session has; models repeat theirs."""
        id, number = wanted or "call", 1
        while id in self._call_ids:
            number += 1
            id = f"{wanted or 'call'}-{number}"
        # at once: two calls of one response may repeat an id too
        self._call_ids.add(id)
        return id

    def _read(self) -> None:
        self._messages = {message.id: message for message in self.store.messages(self.session_id)}
        self._call_ids = {call.call_id for message in self._messages.values() for call in calls_of(message)}


def calls_of(message: StoredMessage) -> tuple[StoredCall, ...]:
    """Return the tool calls of a message."""
    return tuple(part for part in message.parts if isinstance(part, StoredCall))


def compaction_marker(message: StoredMessage) -> CompactionMarker | None:
    """Return the part that makes a user message a request to compact; `None` where it is none."""
    if message.role != "user":
        return None
    return next((part for part in message.parts if isinstance(part, CompactionMarker)), None)


def trim_marker(message: StoredMessage) -> TrimMarker | None:
    """Return the part that makes a user message the note of a trim; `None` where it is none."""
    if message.role != "user":
        return None
    return next((part for part in message.parts if isinstance(part, TrimMarker)), None)


def is_summary(message: StoredMessage) -> bool:
    """Return whether a message is a finished summary: what it covers is no longer sent."""
    return message.summary and bool(message.finish) and not message.error


def visible_messages(messages: Sequence[StoredMessage]) -> tuple[StoredMessage, ...]:
    """Return the messages that the next model call is made of."""
    for index in range(len(messages) - 1, -1, -1):
        trim = trim_marker(messages[index])
        if trim is not None:
            return _behind_trim(messages, index, trim.tail_from)
        if not is_summary(messages[index]):
            continue
        marker_index = _index_before(messages, index, messages[index].parent_id)
        marker = compaction_marker(messages[marker_index]) if marker_index is not None else None
        if marker_index is None or marker is None:
            continue  # its marker was taken back: an older summary counts, if any
        tail_start = _index_before(messages, marker_index, marker.tail_from)
        tail = messages[marker_index if tail_start is None else tail_start : marker_index]
        rest = (*messages[marker_index + 1 : index], *messages[index + 1 :])
        return (messages[marker_index], messages[index], *_without_failed(tail), *_without_failed(rest))
    return tuple(_without_failed(messages))


def last_finished(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """Return the last response since the last compaction or trim that told its usage: it says how full the window
    is."""
    for message in reversed(messages):
        if is_summary(message) or trim_marker(message) is not None:
            return None
        if message.role == "assistant" and not message.summary and message.usage is not None:
            return message
    return None


def last_user_prompt(messages: Sequence[StoredMessage]) -> StoredMessage | None:
    """Return the last message that the user wrote; markers and what the host wrote are not the user's."""
    for message in reversed(messages):
        if message.role == "user" and any(is_users_own(part) for part in message.parts):
            return message
    return None


def last_todos(messages: Sequence[StoredMessage]) -> tuple[Todo, ...]:
    """Return the list of todos as the last call that wrote one left it."""
    for message in reversed(messages):
        for call in reversed(calls_of(message)):
            entries = call.arguments.get("todos")
            if call.tool == "todo" and call.status == "completed" and isinstance(entries, list):
                return tuple(
                    Todo(visible(entry["content"]), entry.get("status", "pending"), entry.get("priority", ""))
                    for entry in entries
                )
    return ()


def is_prompt(message: StoredMessage) -> bool:
    """Return whether the user said a message; one that is said once more after a compaction is none of his."""
    return message.role == "user" and not message.repeats and any(is_users_own(part) for part in message.parts)


def is_users_own(part: object) -> bool:
    """Return whether a part is the user's own words or file."""
    if isinstance(part, Attachment):
        return True
    return isinstance(part, StoredText) and not part.synthetic and not part.ignored


def is_turn_unfinished(messages: Sequence[StoredMessage]) -> bool:
    """Return whether the turn that the messages end in has to go on: a prompt or results wait for a response."""
    for message in reversed(messages):
        failed = message.error and not message.aborted
        is_marker = compaction_marker(message) is not None or trim_marker(message) is not None
        if is_marker or message.summary or failed:
            continue
        if message.role == "user":
            return True
        # results wait for the model, or the provider wants a compaction first
        return message.finish in ("tool-calls", "compact") or (message.aborted and not message.finish)
    return False


def message_size(message: StoredMessage) -> int:
    """Return how many characters a message contributes to a request, about."""
    return sum(size_by_kind(message))


def size_by_kind(message: StoredMessage) -> MessageSize:
    """Return how many characters of words, and of outputs, a message contributes to a request, about."""
    words = outputs = 0
    for part in message.parts:
        match part:
            case StoredText(text=text) | StoredReasoning(text=text) | TrimMarker(text=text):
                words += len(text)
            case StoredCall():
                arguments = sum(len(str(value)) + len(key) for key, value in part.arguments.items())
                words += len(part.tool) + arguments
                outputs += output_size(part)
            case Attachment():
                words += _MEDIA_CHARACTERS if part.data else _NAMED_FILE_CHARACTERS
            case _:
                pass
    return MessageSize(words, outputs)


def output_size(call: StoredCall) -> int:
    """Return how many characters the result of a call contributes to a request, about."""
    if call.compacted:
        return _PRUNED_CHARACTERS
    return len(call.output) + len(call.error) + _MEDIA_CHARACTERS * len(call.attachments)


def recent_tail(messages: Sequence[StoredMessage], room: int) -> tuple[StoredMessage, ...]:
    """Return the newest of the messages, as many as fit in `room` characters, but never all.

    The tail begins with a message of the user where one is among them, so that no answer stands without its question.
    """
    first = 0  # behind an earlier compaction: that one is summarised with what it stands for
    for index, message in enumerate(messages):
        if is_summary(message) or compaction_marker(message) is not None:
            first = index + 1
    start = first + cut_point([message_size(message) for message in messages[first:]], room)
    start = max(1, start)  # a summary of nothing would free nothing
    users = (index for index in range(start, len(messages)) if messages[index].role == "user")
    return tuple(messages[next(users, start) :])


def _without_failed(messages: Sequence[StoredMessage]) -> list[StoredMessage]:
    """Return the messages that are sent; of what an error ended, a cancelled response is."""
    sent = []
    for message in messages:
        failed = message.error and not message.aborted
        is_marker = compaction_marker(message) is not None or trim_marker(message) is not None
        if not message.summary and not is_marker and not failed:
            sent.append(message)
    return sent


def _behind_trim(messages: Sequence[StoredMessage], index: int, tail_from: str) -> tuple[StoredMessage, ...]:
    """Return what a trim left and what came after it; `index` is that of the trim's note."""
    note = messages[index]
    start = _index_before(messages, index, tail_from)
    tail = _without_failed(messages[index if start is None else start :])
    if tail and tail[0].role == "user":  # two messages of a user in a row would need an answer between them
        return (replace(tail[0], parts=(*note.parts, *tail[0].parts)), *tail[1:])
    return (note, *tail)


def _index_before(messages: Sequence[StoredMessage], end: int, id: str) -> int | None:
    # a marker without a tail has an empty id
    if not id:
        return None
    return next((index for index in range(end - 1, -1, -1) if messages[index].id == id), None)


def _merge_parts(old: tuple[StoredPart, ...], new: tuple[StoredPart, ...]) -> tuple[StoredPart, ...]:
    # a changed part keeps its place: order is when it was first stored
    parts = {part.id: part for part in old}
    parts.update((part.id, part) for part in new)
    return tuple(parts.values())
