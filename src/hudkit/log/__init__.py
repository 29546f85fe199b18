"""What happened: the union of events, their envelope and codec, and the `EventLog` protocol."""

from hudkit.log.event import Draft, Event, Origin
from hudkit.log.log import Batch, EventLog, Finding, Snapshot
from hudkit.log.payloads import PAYLOADS, Payload, Unknown, type_of

__all__ = [
    "PAYLOADS",
    "Batch",
    "Draft",
    "Event",
    "EventLog",
    "Finding",
    "Origin",
    "Payload",
    "Snapshot",
    "Unknown",
    "type_of",
]
