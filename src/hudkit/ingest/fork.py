"""A fork takes up the log of the session that it came from: the same events in the same order, so the same bytes.

OpenCode does not say that a session is a fork. It keeps the creation times and call ids of the messages, so that the
facts of a fork's first upload have ids that another session of the project has recorded already.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.api import Session
from hudkit.ingest.event_ids import event_id, message_time
from hudkit.log import Draft, Event, Origin
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
MIN_COMMON_SHARE = 0.5
"""The share of a fork's responses of which its source must have recorded something."""
_USAGE = type_of(ContextSnapshot())
"""What the end of nearly every response tells."""

_NUMBERED: dict[type[Payload], tuple[str, ...]] = {
    FrameBase: ("covers",),
    FrameDelta: ("covers", "since", "heard"),
    Redact: ("seq",),
    EventRestate: ("seq",),
    EventUndo: ("seq",),
}
"""Payloads that name events of their own session, and the fields that do (negative: none)."""


def fork_drafts(
    session: Session, before: int, told: Sequence[Draft], messages: Sequence[Message], anchors: Sequence[str]
) -> tuple[Draft, ...]:
    """Drafts of the source's events up to the fork, and the link to it; nothing where there is no source.

    They go behind the `before` events that the fork has already, so that the sequence numbers that payloads name are
    moved by as many. What cannot be copied (a redacted payload, one of a newer version) leaves an empty event in its
    place. `told` is what the messages come to; `anchors` tell of messages that are not uploaded yet.
    """
    answers = [one for one in (*messages, *map(_answered, anchors)) if one is not None and one.role == "assistant"]
    times = {one.created for one in answers}
    if not times:
        return ()
    ids = {draft.id for draft in told if message_time(draft.id) in times}
    ids |= {event_id(each, "end", _USAGE, 0) for each in answers}
    best: tuple[int, str, list[Event]] | None = None
    read = 0
    for name in _relatives(session) if ids else ():
        count = session.log.last_seq(name)
        if count > MAX_FORK_EVENTS:
            continue
        read += count
        if read > MAX_SEARCHED_EVENTS:
            break
        events = list(session.log.read(name))
        shared = len({message_time(event.id) for event in events if event.id in ids})
        if shared and shared >= MIN_COMMON_SHARE * len(times) and (best is None or shared > best[0]):
            best = (shared, name, events)
    if best is None:
        return ()
    _, name, events = best
    kept = _until(events, [*messages, *(each for each in map(_answered, anchors) if each)])
    source = name.rpartition("@")[0].rpartition("/")[2] or name
    link = SessionLink("fork", source, seq=len(kept))
    return (*(_copy(session, event, before) for event in kept), *session.drafts((link,), Origin.HOST, 0))


def _answered(anchor: str) -> Message | None:
    """The response that an anchor (`role:created:first call`) stands for; `None` for a user's message."""
    role, _, rest = anchor.partition(":")
    created = rest.partition(":")[0]
    if role != "assistant" or not created.isdecimal() or len(created) > 15:
        return None
    return Message("", "", role, int(created))


def _relatives(session: Session) -> list[str]:
    """Other sessions of the same host and project."""
    host, _, rest = session.id.partition("/")
    project = rest.rpartition("@")[2]
    alike = [name for name in session.log.sessions() if name.startswith(f"{host}/") and name.endswith(f"@{project}")]
    return [name for name in reversed(alike) if name != session.id]


def _until(events: Sequence[Event], messages: Sequence[Message]) -> list[Event]:
    """The events from before the first message that the fork does not have: those that such a message told are left
    out with all that follow, and what the agent recorded since the last common message ended."""
    times = {message_time(event.id) for event in events}
    messages = [message for message in messages if message.created in times]  # the fork's own come later than all
    if not messages:
        return list(events)
    last = max(message.created for message in messages)
    later = (n for n, event in enumerate(events) if (message_time(event.id) or 0) > last)
    cut = next(later, None)
    if cut is None:
        return list(events)
    end = max(max(message.completed, message.created, *_ends(message)) for message in messages)
    while cut and message_time(events[cut - 1].id) is None and events[cut - 1].timestamp > end:
        cut -= 1
    return list(events[:cut])


def _ends(message: Message) -> list[int]:
    return [0, *(part.end for part in message.parts if isinstance(part, ToolPart))]


def _copy(session: Session, event: Event, before: int) -> Draft:
    payload = event.payload if isinstance(event.payload, Payload) else SessionStart()
    named = {name: getattr(payload, name) for name in _NUMBERED.get(type(payload), ())}
    payload = msgspec.structs.replace(payload, **{name: _moved(seq, before) for name, seq in named.items()})
    draft = session.drafts((payload,), event.origin, event.turn)[0]
    id = event.id if message_time(event.id) is not None else draft.id
    return msgspec.structs.replace(draft, id=id, timestamp=event.timestamp)


def _moved(seq: int | tuple[int, ...], by: int) -> int | tuple[int, ...]:
    if isinstance(seq, tuple):
        return tuple(one + by for one in seq)
    return seq + by if seq >= 0 else seq
