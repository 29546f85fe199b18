"""What happened: the union of events, their envelope and codec, and the `EventLog` protocol."""

from hudkit.events.event import Draft, Event, Origin
from hudkit.events.log import Batch, EventLog, Finding, Snapshot
from hudkit.events.payloads import PAYLOADS, Payload, Unknown, type_of

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
