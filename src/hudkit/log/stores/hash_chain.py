"""Stored events as rows in a hash chain: made from drafts, decoded with their digests checked, verified as a whole.

No medium here: every store keeps rows, and these are the rules that they share. What the chain is: see `log.codec`.
`decode_row` checks one row against the link stored with the row before, which is what each read does. `ChainScan`
checks a whole log in one pass, and finds besides what one row cannot show:

    row 1, row 2, row 4        -> event 3 is missing ("gap")
    row 2 without a payload    -> fine where a later `redact` event names 2, else "payload"
    head says 9, rows end at 7 -> event 8 is missing: the tail was taken away
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from hudkit.errors import SequenceConflict, StoreDamaged, StoreError
from hudkit.log import Batch, Event, EventDraft, Finding, Origin, Payload, Unknown, type_of
from hudkit.log.codec import (
    GENESIS,
    ID_LIMIT,
    EncodedDraft,
    chain_link,
    decode_payload,
    encode_payload,
    is_id,
    payload_digest,
)
from hudkit.log.payloads import EventGap, Redact

_REDACT, _GAP = type_of(Redact(seq=1)), type_of(EventGap("lost", ""))
_ORIGINS = {origin.value: origin for origin in Origin}
_NAMES: dict[str, str] = {name: name for name in _ORIGINS}
_INT64 = 2**63


class ChainHead(NamedTuple):
    """The end of a session's chain: its last sequence number and its last link."""

    seq: int
    link: bytes


class EventRow(NamedTuple):
    """The columns of one event, in the order of the table; `body` is `None` where it was redacted."""

    session_id: str
    seq: int
    id: str
    turn: int
    timestamp: int
    type: str
    v: int
    origin: str
    body: bytes | None
    digest: bytes
    link: bytes


class PreparedBatch(NamedTuple):
    """What a batch becomes: rows to insert, the events that its writer gets back, and what it redacts.

    `erased` holds sequence numbers of events that were stored before this batch; those within it are redacted
    already.
    """

    rows: tuple[EventRow, ...]
    events: tuple[Event, ...]
    erased: tuple[int, ...]


def prepare_batch(batch: Batch, head: ChainHead, kind_at: Callable[[int], str | None]) -> PreparedBatch:
    """Return the rows of a batch on top of `head`; `kind_at(seq)` is the type of a stored event of the session.

    Raises `SequenceConflict`, and `StoreError` for a draft that no store can hold.
    """
    session_id = check_id(batch.session_id, "a session id")
    if batch.expected is not None and batch.expected != head.seq:
        raise SequenceConflict(
            f"session {session_id} is at {head.seq}, not at {batch.expected}",
            hint="Read what came since, then append again",
            session_id=session_id,
            expected=batch.expected,
            actual=head.seq,
        )
    rows: list[EventRow] = []
    events: list[Event] = []
    targets: list[int] = []
    seq, last = head
    for draft in batch.drafts:
        seq += 1
        row, payload = _row(session_id, seq, draft, last)
        last = row.link
        rows.append(row)
        events.append(_event(row, payload))
        if isinstance(payload, Redact):
            targets.append(_target(payload.seq, seq, rows, head.seq, kind_at))
    # A redaction within its own batch: the payload is gone before it is ever written.
    for target in targets:
        if target > head.seq:
            index = target - head.seq - 1
            rows[index] = rows[index]._replace(body=None)
            events[index] = msgspec.structs.replace(events[index], payload=None)
    return PreparedBatch(tuple(rows), tuple(events), tuple(target for target in targets if target <= head.seq))


def check_id(text: str, what: str) -> str:
    """Return `text` where it can be an id in every store. Raises a `StoreError` that says why not otherwise."""
    if is_id(text):
        return text
    raise StoreError(f"{what} cannot be {text!a:.80}", hint=f"An id is 1 to {ID_LIMIT} bytes of UTF-8 without NUL")


def decode_row(row: EventRow, previous: bytes | None) -> Event:
    """Return the event of a stored row, verified: the body against its digest, the envelope against the chain.

    `previous` is the link stored with the event before; `None` where that event is gone, and only the body can be
    checked. Whether a missing body was redacted is not checked here: see `redaction_target`. Raises `StoreDamaged`
    that carries the finding.
    """
    code = _fault_code(row, previous)
    if code is None:
        try:
            payload = None if row.body is None else decode_payload(row.type, row.v, row.body)
            return _event(row, payload)
        except (msgspec.MsgspecError, KeyError, ValueError, TypeError, RecursionError):
            code = "type"
    raise damage_error(Finding(code, str(row.session_id), row.seq, f"event {row.seq}: {FINDING_MESSAGES[code]}"))


FINDING_MESSAGES = {
    "payload": "the stored payload is not the one that was appended",
    "chain": "the envelope or its place in the chain was changed",
    "gap": "the event is missing",
    "type": "the payload cannot be read as its type",
}
"""What a finding's code means, said of one event."""


def _fault_code(row: EventRow, previous: object) -> str | None:
    """The code of what is wrong with a stored row, `None` where digest and link verify."""
    if row.body is not None and (type(row.body) is not bytes or payload_digest(row.body) != row.digest):
        return "payload"
    if previous is None and type(row.link) is bytes:
        return None
    if type(previous) is not bytes or type(row.digest) is not bytes:
        return "chain"
    return None if row_link(row, previous) == row.link else "chain"


def row_link(row: EventRow, previous: bytes) -> bytes | None:
    """Return the link that a row should have behind the link `previous`; `None` where its fields cannot be linked."""
    _, seq, id_, turn, timestamp, type_, v, origin, _, digest_, _ = row
    try:
        return chain_link(previous, digest_, row.session_id, seq, id_, turn, timestamp, type_, v, origin)
    except (UnicodeEncodeError, TypeError):
        return None


def redaction_target(row: EventRow) -> int | None:
    """Return the number of the event whose payload this row's event removed; `None` for every other event."""
    if row.type != _REDACT or type(row.body) is not bytes:
        return None
    try:
        payload = decode_payload(row.type, row.v, row.body)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None
    return payload.seq if isinstance(payload, Redact) else None


def damage_error(finding: Finding) -> StoreDamaged:
    """Return the error that stands for a finding."""
    return StoreDamaged(
        f"session {finding.session_id}: {finding.message}" if finding.session_id else finding.message,
        hint="`verify` lists everything that is damaged; the events before it can be read",
        finding=finding,
    )


def _row(session_id: str, seq: int, draft: EventDraft, previous: bytes) -> tuple[EventRow, Payload]:
    id_, turn, timestamp, payload = draft.id, draft.turn, draft.timestamp, draft.payload
    check_id(id_, "an event's id")
    if not (
        type(turn) is int and type(timestamp) is int and -_INT64 <= turn < _INT64 and -_INT64 <= timestamp < _INT64
    ):
        name, value = ("timestamp", timestamp) if type(turn) is int and -_INT64 <= turn < _INT64 else ("turn", turn)
        raise StoreError(f"draft {id_}: {name} is {value!r}", hint="It is a whole number of up to 63 bits")
    origin = _NAMES.get(draft.origin)
    if origin is None:
        raise StoreError(f"draft {id_}: origin is {draft.origin!r}", hint=f"It is one of {', '.join(_ORIGINS)}")
    if not isinstance(payload, Payload):
        raise StoreError(f"draft {id_}: {type(payload).__name__} is not a payload", hint="See PAYLOADS")
    type_, v = type_of(payload), payload.V
    try:
        sealed = draft.sealed if isinstance(draft, EncodedDraft) else encode_payload(payload)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"draft {id_}: the payload of {type_} cannot be stored: {type(error).__name__}",
            hint="Every field has the type that its class declares",
        ) from error
    next_ = chain_link(previous, sealed.digest, session_id, seq, id_, turn, timestamp, type_, v, origin)
    row = EventRow(session_id, seq, id_, turn, timestamp, type_, v, origin, sealed.body, sealed.digest, next_)
    return row, sealed.payload


def _event(row: EventRow, payload: Payload | Unknown | None) -> Event:
    return Event(
        row.id, row.seq, row.session_id, row.turn, row.timestamp, row.type, row.v, _ORIGINS[row.origin], payload
    )


def _target(
    target: int, seq: int, rows: Sequence[EventRow], stored: int, kind_at: Callable[[int], str | None]
) -> int:
    """Return a redaction's target; raises where it may not be redacted (a later event, or a redaction itself)."""
    kind = None
    if 0 < target < seq:
        kind = rows[target - stored - 1].type if target > stored else kind_at(target)
    if kind is None or kind == _REDACT:
        raise StoreError(
            f"event {target} cannot be redacted by event {seq}: "
            + ("it is a redaction itself" if kind else "there is no such event before it"),
            hint="Name the sequence number of an earlier event of the same session",
        )
    return target


# -- verifying a whole log -------------------------------------------------------------------------------------------


class _SessionScan:
    """What the scan knows of one session."""

    def __init__(self) -> None:
        self.head = ChainHead(0, GENESIS)
        self.bad: Finding | None = None
        self.empty: set[int] = set()
        self.erased: set[int] = set()
        self.gaps: set[int] = set()


class ChainScan:
    """Takes rows one by one; `findings` says at the end which events do not verify.

    Rules: positions and, within a session, sequence numbers count from 1 without a gap; each row's body matches its
    digest and its envelope the chain; a body is absent exactly where a later `redact` event of the session names it,
    but for the gap that a repair left in the place of such an event.
    """

    def __init__(self) -> None:
        self._chains: dict[str, _SessionScan] = {}
        self._position = 0
        self._hole: Finding | None = None

    def take(self, position: int, row: EventRow) -> None:
        """Take the next row; a session is not looked at any further after its first broken link."""
        if position != self._position + 1 and self._hole is None:
            message = f"position {self._position + 1}: the event is missing or was moved"
            self._hole = Finding("gap", "", self._position + 1, message)
        self._position = position
        chain = self._chains.setdefault(row.session_id, _SessionScan())
        if chain.bad is not None:
            return
        if row.seq != chain.head.seq + 1:
            chain.bad = missing_event(row.session_id, chain.head.seq + 1)
            return
        try:
            decode_row(row, chain.head.link)
        except StoreDamaged as error:
            finding = error.details["finding"]
            assert isinstance(finding, Finding)
            chain.bad = finding
            return
        chain.head = ChainHead(row.seq, row.link)
        if row.body is None:
            chain.empty.add(row.seq)
        elif row.type == _GAP:
            chain.gaps.add(row.seq)
        target = redaction_target(row)
        if target is not None:
            chain.erased.add(target)

    def expect(self, session_id: str, head: ChainHead) -> None:
        """Check that a session's chain ends in `head`, as the medium says: rows that fall short were taken away."""
        chain = self._chains.setdefault(session_id, _SessionScan())
        if chain.bad is not None or chain.head == head:
            return
        if head.seq > chain.head.seq:
            chain.bad = missing_event(session_id, chain.head.seq + 1)
        else:
            message = f"the session's head says {head.seq}, its events end at {chain.head.seq}"
            chain.bad = Finding("chain", session_id, min(head.seq + 1, chain.head.seq), message)

    def sessions(self) -> tuple[str, ...]:
        """Return the ids of the sessions that had a row."""
        return tuple(self._chains)

    def findings(self) -> list[Finding]:
        """Return the first bad event of each session, and the first hole in the order of all events."""
        findings_of_all = [finding for id_, chain in self._chains.items() if (finding := _first_finding(id_, chain))]
        if self._hole is not None and not any(finding.code == "gap" for finding in findings_of_all):
            findings_of_all.append(self._hole)
        return findings_of_all


def missing_event(session_id: str, seq: int) -> Finding:
    """Return the finding for a sequence number that is not there."""
    return Finding("gap", session_id, seq, f"event {seq}: {FINDING_MESSAGES['gap']}")


def _first_finding(session_id: str, chain: _SessionScan) -> Finding | None:
    if chain.bad is not None:
        return chain.bad
    # In the place of an event that was redacted, and then damaged, stands what says so.
    odd = chain.empty ^ (chain.erased - chain.gaps)
    if not odd:
        return None
    seq = min(odd)
    what = "the payload was removed without a redaction" if seq in chain.empty else "the redacted payload is back"
    return Finding("payload", session_id, seq, f"event {seq}: {what}")
