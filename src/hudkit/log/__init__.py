"""The log: the union of events, their envelope and codec, redaction, and the `EventLog` protocol."""

from hudkit.log.event import Event, EventDraft, Origin
from hudkit.log.event_log import Batch, EventLog, Finding, SessionHead, Snapshot
from hudkit.log.payloads import PAYLOADS, Payload, Unknown, type_of

__all__ = [
    "PAYLOADS",
    "Batch",
    "Event",
    "EventDraft",
    "EventLog",
    "Finding",
    "Origin",
    "Payload",
    "SessionHead",
    "Snapshot",
    "Unknown",
    "type_of",
]
