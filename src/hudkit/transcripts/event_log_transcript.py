"""Our own log as a `Transcript`: each event that tells of work is one message of its session."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from hudkit.errors import StoreError, TranscriptError
from hudkit.log.event import Event, Origin
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import SessionLink, SessionStart, Unknown
from hudkit.transcripts.transcript import Message, SessionRow, TextPart, Todo, UnreadableRecord

HOST = "hudkit"

BOOKKEEPING_EVENTS = frozenset(
    {"frame.base", "frame.delta", "context.snapshot", "compact.before", "session.start", "session.link", "redact"}
    | {"event.restate", "event.gap", "session.offer", "share.sync", "transcript.seen"}
)
"""Events about calls and sessions, not about work."""

HIDDEN_FIELDS: dict[str, frozenset[str]] = {
    "frame.base": frozenset({"tag", "text", "omitted"}),
    "frame.delta": frozenset({"text"}),
    "context.snapshot": frozenset({"call"}),
    "compact.before": frozenset({"state"}),
    "event.restate": frozenset({"body"}),
}
"""Fields that are never told: bytes of frames (a copy of their tag could pass for the HUD), whole states."""

_DESCRIBING = 100  # events of a session's begin that may describe it


class OwnTranscript:
    """The `Transcript` of an event log. The log stays its owner's: closing this leaves it open."""

    host = HOST

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._rows: dict[str, tuple[int, SessionRow]] = {}

    @property
    def skipped(self) -> tuple[UnreadableRecord, ...]:
        """Return nothing: a log that cannot be read raises."""
        return ()

    def sessions(self) -> tuple[SessionRow, ...]:
        """Return all sessions of the log, in order of their first event."""
        try:
            return tuple(self._row(id) for id in self._log.sessions())
        except StoreError as error:
            raise _unreadable(error) from error

    def session(self, session_id: str) -> SessionRow | None:
        """Return one session, `None` for an unknown id."""
        try:
            return self._row(session_id) if self._log.last_seq(session_id) else None
        except StoreError as error:
            raise _unreadable(error) from error

    def messages(self, session_id: str, *, after: str = "") -> Iterator[Message]:
        """Return one message for each event that is about work, from behind the message `after`."""
        try:
            for event in self._log.read(session_id, after=self._seq(session_id, after), past_damage=True):
                if event.type not in BOOKKEEPING_EVENTS:
                    yield _message(event)
        except StoreError as error:
            raise _unreadable(error) from error

    def todos(self, session_id: str) -> tuple[Todo, ...]:  # noqa: ARG002 (of the protocol)
        """Return nothing: the HUD itself shows them."""
        return ()

    def close(self) -> None:
        """Do nothing: the log is not this one's to close."""

    def _seq(self, session_id: str, after: str) -> int:
        if not after:
            return 0
        # The id of a message is `SESSION#SEQ`; a session id may hold a `#` itself.
        number = after.rpartition("#")[2]
        if not number.isdecimal() or not 0 < int(number[:18]) <= self._log.last_seq(session_id):
            raise TranscriptError(f"no message {after!r:.80} in this session", hint="Read it from its beginning.")
        return int(number[:18])

    def _row(self, id: str) -> SessionRow:
        last = self._log.last_seq(id)
        described_at, row = self._rows.get(id, (-1, None))
        # Title and parent stand at the beginning of a session: once that is read, only the time changes.
        if row is None or described_at < _DESCRIBING:
            row = _session_row(id, tuple(islice(self._log.read(id, past_damage=True), _DESCRIBING)))
        if described_at != last:
            end = next(iter(self._log.read(id, after=last - 1, past_damage=True)), None)
            row = msgspec.structs.replace(row, updated=end.timestamp if end else row.updated)
            self._rows[id] = (last, row)
        return row


def describe_event(event: Event) -> str:
    """Return what an event says: its one field, or all of them by name."""
    payload = event.payload
    if payload is None:
        return "(redacted)"
    if isinstance(payload, Unknown):
        return "(of a newer version)"
    untold = HIDDEN_FIELDS.get(event.type, frozenset())
    # The reader knows the stored names: those that `hudkit log` and exports show.
    names = zip(payload.__struct_encode_fields__, payload.__struct_fields__, strict=True)
    fields = {stored: _value_text(getattr(payload, name)) for stored, name in names if stored not in untold}
    filled = {name: value for name, value in fields.items() if value}
    if len(filled) == 1:
        return next(iter(filled.values()))
    return ", ".join(f"{name}: {value}" for name, value in filled.items())


def _value_text(value: object) -> str:
    if isinstance(value, msgspec.Struct):
        return " ".join(_value_text(item) for item in msgspec.structs.astuple(value))
    if isinstance(value, tuple):
        return "; ".join(_value_text(item) for item in value)
    return "" if value is None or value is False else "yes" if value is True else str(value)


def _message(event: Event) -> Message:
    id = f"{event.session_id}#{event.seq}"
    role = "user" if event.origin is Origin.USER else "assistant"
    return Message(
        id=id,
        session_id=event.session_id,
        role=role,
        created=event.timestamp,
        completed=event.timestamp,
        agent="" if event.origin is Origin.AGENT else str(event.origin),
        finish="stop",
        parts=(TextPart(id, f"{event.type}: {describe_event(event)}"),),
    )


def _session_row(id: str, events: tuple[Event, ...]) -> SessionRow:
    title = directory = agent = model = parent = ""
    for event in events:
        if isinstance(event.payload, SessionStart):
            title, directory = event.payload.title or title, event.payload.directory or directory
            agent, model = event.payload.agent or agent, event.payload.model or model
        elif isinstance(event.payload, SessionLink) and event.payload.relation == "parent":
            parent = event.payload.session_id
    created = events[0].timestamp if events else 0
    return SessionRow(id, HOST, parent, directory, title, agent, model, directory, created, created)


def _unreadable(error: StoreError) -> TranscriptError:
    return TranscriptError(f"the log cannot be read: {error.message}", hint=error.hint)
