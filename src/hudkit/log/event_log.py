"""The `EventLog` protocol: what every store of events promises."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from hudkit.errors import StoreError
from hudkit.log.event import Event, EventDraft


class Batch(msgspec.Struct, frozen=True):
    """Drafts of one session of which all are appended or none.

    `expected` is the last sequence number that the writer has seen; `None` appends behind whatever came since.

    A commit of batches that need no `sync` need not wait for the disk: what it appends outlives the process at once,
    and a loss of power from a second later on. All that came behind what is lost is lost with it.
    """

    session_id: str
    drafts: tuple[EventDraft, ...]
    expected: int | None = None
    sync: bool = True


class Snapshot(msgspec.Struct, frozen=True):
    """A saved state: an opaque `body` as of `seq`, readable by the reducers of this `version` only.

    Nothing is in a snapshot alone: without it the state is folded from the events.
    """

    session_id: str
    seq: int
    version: str
    body: bytes


class SessionHead(NamedTuple):
    """How far a session has come: its last event's number and time (Unix ms)."""

    session_id: str
    seq: int
    timestamp: int


class Finding(msgspec.Struct, frozen=True):
    """What `verify` found: the first bad event of a session (or of the file, then `session_id` is empty)."""

    code: str  # payload | chain | gap | lost | type | file
    session_id: str
    seq: int
    message: str

    def loss_of(self, session_id: str) -> str:
        """Return what was lost, as a session is told it that has events: empty where it lost nothing.

        Of a loss that is not one session's alone, nobody knows whose the events were: each session is told.
        """
        if self.code != "lost" or self.session_id == session_id:
            return self.message if self.code == "lost" else ""
        is_shared = any(words in self.message for words in (MORE_THAN_ONE_SESSION, ANOTHER_EVENT))
        # Without the number of an event, which is another session's.
        return (self.message.partition("; ")[2] or self.message) if is_shared else ""


MORE_THAN_ONE_SESSION, ANOTHER_EVENT = "of more than one session", "another event took its place"
"""How the message of a loss says that events of several sessions are missing, or that those of another log are there
in their place."""


@runtime_checkable
class EventLog(Protocol):
    """An append-only log of many sessions. Each method raises a `StoreError` and leaves nothing half-written."""

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append all or none, durably; return the events as stored (redacted, numbered).

        A `redact` payload acts as it is appended: in the same commit the payload of the event that it names is
        removed, and the session's snapshots from that event on. Raises `SequenceConflict` where `expected` is not the
        session's last sequence number, and `StoreError` for a draft or an id that cannot be stored.
        """
        ...

    def append_many(self, batches: Sequence[Batch]) -> list[tuple[Event, ...] | StoreError]:
        """Append several batches in one durable commit (group commit); return one answer for each, in order.

        A batch that cannot be appended is answered with its error and does not disturb the others.
        """
        ...

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        """Append all of several batches or none, in one durable commit; return the events of each, in order.

        Raises what `append` raises for the first batch that cannot be appended.
        """
        ...

    def read(
        self, session_id: str, *, after: int = 0, upto: int | None = None, past_damage: bool = False
    ) -> Iterator[Event]:
        """Return the events with `after < seq <= upto` of those that are there now, in order.

        Raises `StoreDamaged` at the first event that does not verify, after those before it were handed out. With
        `past_damage`, an `EventGap` comes in the place of each such event (without id, as of turn and time 0), and
        the reading goes on.
        """
        ...

    def last_seq(self, session_id: str) -> int:
        """Return the session's last sequence number, 0 for an unknown session."""
        ...

    def event_ids(self, session_id: str, *, upto: int) -> list[str]:
        """Return the ids of the events with `seq <= upto`, in order, without their bodies: nothing is verified."""
        ...

    def last_seq_of(self, session_id: str, types: Collection[str], *, upto: int) -> int:
        """Return the number of the last event of one of these types with `seq <= upto`, 0 where there is none."""
        ...

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of all sessions with at least one event, in order of their first event."""
        ...

    def heads(self) -> tuple[SessionHead, ...]:
        """Return the last event of every session, the session that was appended to last at the end.

        Nothing is verified: it is for lists of sessions.
        """
        ...

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Keep a saved state (the newest few of a session and version are kept; none from before a redaction).

        Raises `StoreError` where the session has no event `snapshot.seq`.
        """
        ...

    def get_snapshot(self, session_id: str, version: str, *, upto: int | None = None) -> Snapshot | None:
        """Return the newest snapshot of this version with `seq <= upto`, `None` where none verifies."""
        ...

    def verify(self) -> Iterator[Finding]:
        """Return the first bad event of each session, and what is wrong with the medium.

        Nothing where all is well.
        """
        ...

    def recorded_findings(self) -> tuple[Finding, ...]:
        """Return what was found wrong when the log was opened or written, and recorded; `verify` repeats it.

        A loss has the code `lost`, and the session of the last event that is missing.
        """
        ...

    def close(self) -> None:
        """Sync and close; closing twice is harmless."""
        ...
