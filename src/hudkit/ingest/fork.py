"""A fork takes over the log of the session that it came from: the same events in the same order, so the same bytes.

OpenCode does not say that a session is a fork. But it keeps the creation times of the messages and the ids of the
calls, so that the facts of a fork's first batch have ids that another session of the project has recorded already.
The session with the most of them is the source, where it has recorded something of at least half of the fork's
responses. Its events are copied up to the first message that the fork does not have.

For example, session A recorded m1 (t=1), m2 (t=2), m3 (t=3). A session B of the same project begins with m1, m2 and a
new m4 (t=9). The ids of B's facts at t=1 and t=2 are in A, so that A is the source. A's events up to the end of m2
are copied to B, then the link to A, and B goes on with the facts of m4. What the agent itself recorded in A since m2
ended is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from hudkit.ingest.event_ids import IngestEvent, event_id, message_time
from hudkit.log import Event, Origin
from hudkit.log.payloads import (
    ContextSnapshot,
    EventRestate,
    EventUndo,
    FrameBase,
    FrameDelta,
    Payload,
    Redact,
    SessionLink,
    SessionStart,
    type_of,
)
from hudkit.transcripts import Message, ToolPart

MAX_FORK_EVENTS = 20_000
"""Sessions with more events are not copied: a fork then begins with what its messages tell."""

MAX_SEARCHED_EVENTS = 60_000
"""Events of the project's sessions that are looked through, newest session first: about a third of a second."""

_MIN_COMMON_SHARE = 0.5
"""The share of a fork's responses of which its source must have recorded something."""

_USAGE = type_of(ContextSnapshot())
"""What the end of nearly every response tells."""

_SEQ_FIELDS: dict[type[Payload], tuple[str, ...]] = {
    FrameBase: ("covers",),
    FrameDelta: ("covers", "since", "answered"),
    Redact: ("seq",),
    EventRestate: ("seq",),
    EventUndo: ("seq",),
}
"""Payloads that name events of their own session by number, and the fields that do (negative: none)."""


class ForkCandidate(msgspec.Struct, frozen=True):
    """Another session of the host and project, by its key in the log, with all of its events."""

    key: str
    events: Sequence[Event]


def related_sessions(session_key: str, keys: Sequence[str]) -> list[str]:
    """Return which of a log's sessions are of the same host and project as a session, newest first."""
    host, _, rest = session_key.partition("/")
    project = rest.rpartition("@")[2]
    related = [key for key in keys if key.startswith(f"{host}/") and key.endswith(f"@{project}")]
    return [key for key in reversed(related) if key != session_key]


def fork_events(
    ingested: Iterable[IngestEvent],
    messages: Sequence[Message],
    anchors: Sequence[str],
    candidates: Iterable[ForkCandidate],
    *,
    shift: int,
) -> tuple[IngestEvent, ...]:
    """Return the source's events up to the fork, and the link to it; nothing where no candidate is the source.

    `ingested` is what the session's first batch comes to, `anchors` tell of messages that are not uploaded yet. The
    events go behind the `shift` events that the fork has already, so that the sequence numbers in their payloads are
    moved by as many. What cannot be copied (a redacted payload, one of a newer version) leaves an empty event in its
    place.
    """
    known_by_anchor = [message for message in map(_answered, anchors) if message is not None]
    own_messages = [*messages, *known_by_anchor]
    responses = [message for message in own_messages if message.role == "assistant"]
    times = {message.created for message in responses}
    ids = {event.id for event in ingested if message_time(event.id) in times}
    ids |= {event_id(message, "end", _USAGE, 0) for message in responses}
    source = _source(candidates, ids, len(times)) if times and ids else None
    if source is None:
        return ()
    copied = _until_fork(source.events, own_messages)
    name = source.key.rpartition("@")[0].rpartition("/")[2] or source.key
    link = IngestEvent(Origin.HOST, SessionLink("fork", name, seq=len(copied)), turn=0)
    return (*(_copy(event, shift) for event in copied), link)


def _source(candidates: Iterable[ForkCandidate], ids: set[str], responses: int) -> ForkCandidate | None:
    """The candidate that recorded something of the most responses."""
    best, best_common = None, 0
    for candidate in candidates:
        common = len({message_time(event.id) for event in candidate.events if event.id in ids})
        if common > best_common and common >= _MIN_COMMON_SHARE * responses:
            best, best_common = candidate, common
    return best


def _answered(anchor: str) -> Message | None:
    """The response that an anchor (`role:created:first call`) stands for; `None` for a user's message."""
    role, _, rest = anchor.partition(":")
    created = rest.partition(":")[0]
    if role != "assistant" or not created.isdecimal() or len(created) > 15:
        return None
    return Message("", "", role, int(created))


def _until_fork(events: Sequence[Event], messages: Sequence[Message]) -> list[Event]:
    """The events from before the first message that the fork does not have: those that such a message told are left
    out with all that follow, and what the agent recorded since the last common message ended."""
    times = {message_time(event.id) for event in events}
    common = [message for message in messages if message.created in times]  # the fork's own are later than all
    if not common:
        return list(events)
    last = max(message.created for message in common)
    later = (index for index, event in enumerate(events) if (message_time(event.id) or 0) > last)
    cut = next(later, None)
    if cut is None:
        return list(events)
    end = max(max(message.completed, message.created, *_call_ends(message)) for message in common)
    while cut and message_time(events[cut - 1].id) is None and events[cut - 1].timestamp > end:
        cut -= 1
    return list(events[:cut])


def _call_ends(message: Message) -> list[int]:
    return [0, *(part.end for part in message.parts if isinstance(part, ToolPart))]


def _copy(event: Event, shift: int) -> IngestEvent:
    payload = event.payload if isinstance(event.payload, Payload) else SessionStart()
    numbers = {name: getattr(payload, name) for name in _SEQ_FIELDS.get(type(payload), ())}
    moved = {name: _moved(seq, shift) for name, seq in numbers.items()}
    payload = msgspec.structs.replace(payload, **moved)
    # Only an id from a message may stand in two sessions: by it, the fork knows what it has.
    id = event.id if message_time(event.id) is not None else ""
    return IngestEvent(event.origin, payload, id=id, timestamp=event.timestamp, turn=event.turn)


def _moved(seq: int | tuple[int, ...], shift: int) -> int | tuple[int, ...]:
    if isinstance(seq, tuple):
        return tuple(number + shift for number in seq)
    return seq + shift if seq >= 0 else seq
