"""A world in partitions, read as one: the logs of all partitions merged into one that is like a whole world's.

Events are taken in the order of their times, but for one rule: what a partition did upon an event of another one
stands behind that event. `EventReceived` says so; it, and the copies behind it, are left out, for the event itself is
there. Messages and requests, which each partition numbers for itself, are numbered anew.

    log of 1: message 17 at 12:00:05                      merged: ..., message 230 (17 of partition 1),
    log of 2: received (1, 240), message 9 at 12:00:04,            message 231 (10 of partition 2, a reply to 230)
              message 10, a reply to 9, at 12:00:04

The order of what is merged does not change any more while this object lives; another process that merges later may
have a slightly different one, where clocks differ.

What is appended here is the Architect's: it goes into the log of number 0, and into the inboxes of those whom it
concerns.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence

import msgspec

from hudkit.errors import SequenceConflict, StoreError
from hudkit.log import Batch, Event, EventDraft, EventLog, Finding, Payload, SessionHead, Snapshot
from hudkit.rooms import world_events as e
from hudkit.rooms.partitions.relay import as_plain_data, from_plain_data
from hudkit.rooms.partitions.split_world import partition_session

_LAST = 2**63 - 1


class _Numbers:
    """Things that each partition numbers for itself, numbered through: `merged` from where, `origins` back."""

    def __init__(self) -> None:
        self.merged: dict[tuple[int, int], int] = {}
        self.origins: dict[int, tuple[int, int]] = {}

    def add(self, partition: int, id: int) -> None:
        """Give the next number."""
        number = len(self.merged) + 1
        self.merged[partition, id] = number
        self.origins[number] = (partition, id)


class _MergedPart:
    """How far the log of one partition is merged, and what follows there."""

    def __init__(self) -> None:
        self.seq = 0
        self.copies = 0
        """Copies that follow, of events of other partitions, and where the messages among them were said."""
        self.copied_messages: list[tuple[int, int]] = []
        self.coming: Iterator[Event] = iter(())
        self.next: Event | None = None

    def advance(self) -> None:
        """Look at the next event."""
        event = next(self.coming, None)
        self.next = None if event is None else _decoded(event)


class MergedLog:
    """An `EventLog` whose session `world` is the whole world of another log that has it in partitions."""

    def __init__(self, log: EventLog, partitions: int) -> None:
        """`log` is closed with this one."""
        self._log = log
        self._places = {number: _MergedPart() for number in range(partitions + 1)}
        self._partition_at = array("B")
        self._seq_at = array("Q")
        self._messages, self._pending, self._requests = _Numbers(), _Numbers(), _Numbers()
        self._said: dict[tuple[int, int], tuple[int, int]] = {}
        """Where a message was said, and its number there, by partitions that heard it, and their numbers."""
        self._architect_message = 1

    # -- merging -----------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Merge what is new."""
        for number, place in self._places.items():
            session = partition_session(number)
            place.coming = self._log.read(session, after=place.seq, past_damage=True)
            place.advance()
        # What waits for an event that was not there yet when that log was looked at waits for the next time.
        while ready := [pair for pair in self._places.items() if self._is_ready(pair[1])]:
            number, place = min(ready, key=_by_time)
            self._take(number, place)

    def _is_ready(self, place: _MergedPart) -> bool:
        if place.next is None:
            return False
        payload = place.next.payload
        return not isinstance(payload, e.EventReceived) or self._places[payload.source].seq >= payload.seq

    def _take(self, number: int, place: _MergedPart) -> None:
        event = place.next
        assert event is not None
        place.seq = event.seq
        place.advance()
        payload = event.payload
        if isinstance(payload, e.EventReceived):
            place.copies = payload.count
            place.copied_messages = [(payload.source, id) for id in payload.ids]
        elif place.copies:
            place.copies -= 1
            if isinstance(payload, e.MessagePosted):
                self._said[number, payload.id] = place.copied_messages.pop(0)
        elif not (number and isinstance(payload, e.WorldCreated)):
            self._number(number, payload)
            self._partition_at.append(number)
            self._seq_at.append(event.seq)

    def _number(self, partition: int, payload: object) -> None:
        if isinstance(payload, e.MessagePosted):
            self._messages.add(partition, payload.id)
            if not partition:
                self._architect_message = payload.id + 1
        elif isinstance(payload, e.MessageDelayed):
            self._pending.add(partition, payload.id)
        elif isinstance(payload, e.AccessRequested):
            self._requests.add(partition, payload.id)

    # -- reading -----------------------------------------------------------------------------------------------------

    def read(
        self, session_id: str, *, after: int = 0, upto: int | None = None, past_damage: bool = False
    ) -> Iterator[Event]:
        """Return the events of the whole world; see `EventLog.read`. Other sessions are those of the log behind."""
        if session_id != partition_session(0):
            return self._log.read(session_id, after=after, upto=upto, past_damage=past_damage)
        end = len(self._seq_at) if upto is None else min(upto, len(self._seq_at))
        return self._merged(max(0, after), end)

    def _merged(self, start: int, end: int) -> Iterator[Event]:
        readers: dict[int, Iterator[Event]] = {}
        for place in range(start, end):
            partition, seq = self._partition_at[place], self._seq_at[place]
            if partition not in readers:
                session = partition_session(partition)
                readers[partition] = self._log.read(session, after=seq - 1, past_damage=True)
            event = _decoded(next(event for event in readers[partition] if event.seq == seq))
            yield msgspec.structs.replace(event, seq=place + 1, payload=self._translated(partition, event.payload))

    def _translated(self, partition: int, payload: object) -> object:
        """Return a payload with the numbers of the whole."""
        replace = msgspec.structs.replace
        if not partition:
            return self._architect_payload(payload)
        match payload:
            case e.MessagePosted(id=id, reply_to=reply, pending=pending):
                return replace(
                    payload,
                    id=self._messages.merged[partition, id],
                    reply_to=self._message(partition, reply) if reply else 0,
                    pending=self._pending.merged[partition, pending] if pending else 0,
                )
            case e.MessageDelayed(id=id, reply_to=reply):
                reply = self._message(partition, reply) if reply else 0
                return replace(payload, id=self._pending.merged[partition, id], reply_to=reply)
            case e.MessageWithdrawn(id=id):
                return replace(payload, id=self._pending.merged[partition, id])
            case e.ReactionAdded(message=message):
                return replace(payload, message=self._message(partition, message))
            case e.AccessRequested(id=id) | e.AccessGranted(id=id) | e.AccessDenied(id=id):
                return replace(payload, id=self._requests.merged[partition, id])
            case e.AgentCreated(home=0):
                return replace(payload, home=partition)
        return payload

    def _architect_payload(self, payload: object) -> object:
        """Return a payload of the log of number 0, which names things of all partitions."""
        replace = msgspec.structs.replace
        match payload:
            case e.MessagePosted(id=id, reply_to=reply):
                reply = self._messages.merged[_read_reference(reply)] if reply else 0
                return replace(payload, id=self._messages.merged[0, id], reply_to=reply)
            case e.ReactionAdded(message=message):
                return replace(payload, message=self._messages.merged[_read_reference(message)])
            case e.MessageWithdrawn(id=id):
                return replace(payload, id=self._pending.merged[_read_reference(id)])
            case e.AccessGranted(id=id) | e.AccessDenied(id=id):
                return replace(payload, id=self._requests.merged[_read_reference(id)])
        return payload

    def _message(self, partition: int, id: int) -> int:
        return self._messages.merged[self._said.get((partition, id), (partition, id))]

    def last_seq(self, session_id: str) -> int:
        """Return the last number; that of the whole world after merging what is new. See `EventLog.last_seq`."""
        if session_id != partition_session(0):
            return self._log.last_seq(session_id)
        self._refresh()
        return len(self._seq_at)

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events with `seq <= upto`; see `EventLog.event_ids`."""
        return [event.id for event in self.read(session_id, upto=upto, past_damage=True)]

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types; see `EventLog.last_seq_of`."""
        events = self.read(session_id, upto=upto, past_damage=True)
        return max((event.seq for event in events if event.type in types), default=0)

    # -- what the Architect does -------------------------------------------------------------------------------------

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append what the Architect did and what concerns no partition; see `append_together`."""
        return self.append_together([Batch(session_id, tuple(drafts), expected)])[0]

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append what the Architect did, and what is sent of it to the partitions, in their numbers.

        Raises `SequenceConflict` where another did something as the Architect, or `expected` is not what was read.
        """
        whole = next(batch for batch in batches if batch.session_id == partition_session(0))
        # What partitions did meanwhile is no conflict: with thousands of agents something always happens. What cannot
        # happen there any more is passed over when it comes.
        before = len(self._seq_at)
        if whole.expected not in (None, before):
            raise SequenceConflict(
                f"the world is at {before}, not at {whole.expected}",
                hint="Read what came since, then append again",
                session_id=whole.session_id,
                expected=whole.expected,
                actual=before,
            )
        place = self._places[0]
        own = _ArchitectNumbers(self._messages, self._pending, self._requests, place.seq - before)
        own.next_message = self._architect_message
        translated = [Batch(whole.session_id, own.drafts(whole.drafts), place.seq)]
        translated += [
            Batch(batch.session_id, own.drafts(batch.drafts), batch.expected)
            for batch in batches
            if batch is not whole
        ]
        answers = self._log.append_together(translated)
        # Merged at once, and first: the caller has folded them in behind what it knew.
        place.coming = iter(answers[0])
        place.advance()
        while place.next is not None:
            self._take(0, place)
        stored = [
            msgspec.structs.replace(event, seq=before + index + 1, payload=draft.payload)
            for index, (event, draft) in enumerate(zip(answers[0], whole.drafts, strict=True))
        ]
        return [tuple(stored), *answers[1:]]

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches; see `EventLog.append_many`."""
        answers: list[tuple[Event, ...] | StoreError] = []
        for batch in batches:
            try:
                answers.append(self.append_together([batch])[0])
            except StoreError as error:
                answers.append(error)
        return answers

    def notify(self, session_id: str) -> None:
        """Tell whoever listens that there is something new in a session; a log in memory has nobody who does."""
        notify = getattr(self._log, "notify", None)
        if notify is not None:
            notify(session_id)

    # -- the log behind ----------------------------------------------------------------------------------------------

    def sessions(self) -> tuple[str, ...]:
        """Return the sessions of the log behind; see `EventLog.sessions`."""
        return self._log.sessions()

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last events of the sessions of the log behind; see `EventLog.heads`."""
        return self._log.heads()

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep nothing: partitions have snapshots of their own."""

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:  # noqa: ARG002
        """Return `None`: see `put_snapshot`."""
        return None

    def verify(self) -> Iterator[Finding]:
        """Return what is damaged in the log behind; see `EventLog.verify`."""
        return self._log.verify()

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return what was found wrong before; see `EventLog.recorded_findings`."""
        return self._log.recorded_findings()

    def close(self) -> None:
        """Close the log behind; closing twice is harmless."""
        self._log.close()


def _decoded(event: Event) -> Event:
    """Return an event with what it says of a world; what says nothing of one stays as it is."""
    payload = e.decode_world_event(event)
    return event if payload is None else msgspec.structs.replace(event, payload=payload)


def _by_time(pair: tuple[int, _MergedPart]) -> tuple[int, int]:
    number, place = pair
    # Of the same moment, what the Architect did comes last: he saw the rest.
    return place.next.timestamp if place.next is not None else _LAST, number or _LAST


_PARTITION_BITS = 48
"""In the log of number 0, a partition's thing is named by both numbers in one, the partition's above these bits."""


def _reference(origin: tuple[int, int]) -> int:
    partition, id = origin
    return partition << _PARTITION_BITS | id


def _read_reference(reference: int) -> tuple[int, int]:
    return reference >> _PARTITION_BITS, reference & (1 << _PARTITION_BITS) - 1


class _ArchitectNumbers:
    """Translates what the Architect is about to do from the numbers of the whole to those of the logs."""

    def __init__(self, messages: _Numbers, pending: _Numbers, requests: _Numbers, seq_offset: int) -> None:
        """`seq_offset` is what is added to an event's number in the whole to give that in the log of number 0."""
        self.next_message = 1
        self._messages = messages
        self._pending = pending
        self._requests = requests
        self._seq_offset = seq_offset
        self._new: dict[int, int] = {}
        """Messages of this append: their numbers in the log of number 0, by those of the whole."""

    def drafts(self, drafts: Sequence[EventDraft]) -> tuple[EventDraft, ...]:
        """Return drafts as they are appended."""
        return tuple(
            EventDraft(draft.id, draft.timestamp, draft.turn, draft.origin, self._payload(draft.payload))
            for draft in drafts
        )

    def _payload(self, payload: Payload) -> Payload:
        replace = msgspec.structs.replace
        match payload:
            case e.EventRelayed():
                return self._relay(payload)
            case e.MessagePosted(id=id, reply_to=reply):
                self._new[id] = self.next_message
                self.next_message += 1
                reply = _reference(self._message(reply)) if reply else 0
                return replace(payload, id=self._new[id], reply_to=reply)
            case e.ReactionAdded(message=message):
                return replace(payload, message=_reference(self._message(message)))
            case e.MessageWithdrawn(id=id):
                return replace(payload, id=_reference(self._pending.origins[id]))
            case e.AccessGranted(id=id) | e.AccessDenied(id=id):
                return replace(payload, id=_reference(self._requests.origins[id]))
        return payload

    def _relay(self, relay: e.EventRelayed) -> e.EventRelayed:
        event = from_plain_data(relay.event)
        if isinstance(event, e.MessagePosted):
            event = msgspec.structs.replace(event, id=self._new[event.id])
        elif isinstance(event, e.AccessGranted | e.AccessDenied):
            event = msgspec.structs.replace(event, id=self._requests.origins[event.id][1])
        elif isinstance(event, e.MessageWithdrawn):
            event = msgspec.structs.replace(event, id=self._pending.origins[event.id][1])
        return msgspec.structs.replace(
            relay,
            seq=relay.seq + self._seq_offset,
            event=as_plain_data(event),
            message=None if relay.message is None else self._message(relay.message[1]),
        )

    def _message(self, id: int) -> tuple[int, int]:
        return (0, self._new[id]) if id in self._new else self._messages.origins[id]
