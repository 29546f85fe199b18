"""The envelope of an event, and the draft from which a log makes one."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from hudkit.log.payloads import Payload, Unknown


class Origin(StrEnum):
    """Who said it.

    Set by the channel through which an event came, never by its body: text cannot raise its own trust.
    """

    AGENT = "agent"
    USER = "user"
    TOOL = "tool"
    HOST = "host"
    SYSTEM = "system"


class EventDraft(msgspec.Struct, frozen=True, gc=False):
    """An event before it has a place in the log.

    `id` is a UUIDv7 as text, `timestamp` Unix milliseconds, `turn` the number of the agent's turn.
    """

    id: str
    timestamp: int
    turn: int
    origin: Origin
    payload: Payload


class Event(msgspec.Struct, frozen=True, gc=False):
    """An immutable fact: `seq` counts from 1 without a gap within `session_id`; order is by `seq` alone.

    `payload` is `None` where it was redacted.
    """

    id: str
    seq: int
    session_id: str
    turn: int
    timestamp: int
    type: str
    v: int
    origin: Origin
    payload: Payload | Unknown | None
