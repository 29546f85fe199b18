"""Redacted events as they are read: with what is left of them, where something is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from hudkit.errors import HudkitError
from hudkit.log.codec import open_payload
from hudkit.log.event import Event
from hudkit.log.log import EventLog
from hudkit.log.payloads import EventRestate, Payload, Unknown


def left(told: EventRestate) -> Payload | None:
    """The payload that is left; `None` where this version cannot read it."""
    try:
        kind = msgspec.json.decode(told.body, type=dict[str, object]).get("type")
        found = open_payload(str(kind), told.v, told.body.encode())
    except (msgspec.MsgspecError, HudkitError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(found, Unknown) else found


def restated(event: Event, known: Mapping[int, Payload]) -> Event:
    """The event, with what is left of its payload where it was redacted; `known` is that by sequence numbers."""
    if event.payload is not None or event.seq not in known:
        return event
    return msgspec.structs.replace(event, payload=known[event.seq])


class Restatements:
    """What is left of one session's redacted events; looked for only when one is met, and only in what is new."""

    def __init__(self, log: EventLog, session_id: str) -> None:
        self._log = log
        self._session_id = session_id
        self._known: dict[int, Payload] = {}
        self._from = self._upto = 0  # what was looked through

    def __call__(self, events: Iterator[Event]) -> Iterator[Event]:
        """The events, redacted ones with what is left of them. Raises a `StoreError` as the log does."""
        for event in events:
            if event.payload is None:
                self._look(event.seq)
                event = restated(event, self._known)
            yield event

    def _look(self, after: int) -> None:
        last = self._log.last_seq(self._session_id)
        if after >= self._from and last == self._upto:
            return
        found = {}
        for event in self._log.read(self._session_id, after=after, upto=last):
            if isinstance(event.payload, EventRestate):
                found[event.payload.seq] = left(event.payload)
        self._from, self._upto = after, last
        self._known = {seq: payload for seq, payload in found.items() if payload is not None}
