"""One stored event as a row: made from a draft, opened again with its digest and link checked. No medium here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from hudkit.errors import SequenceConflict, StoreDamaged, StoreError
from hudkit.log import Batch, Draft, Event, Finding, Origin, Payload, Unknown, type_of
from hudkit.log.codec import SealedDraft, digest, link, open_payload, seal
from hudkit.log.log import ID_LIMIT, is_id
from hudkit.log.payloads import Redact

_REDACT = type_of(Redact(seq=1))
_ORIGINS = {origin.value: origin for origin in Origin}
_NAMES: dict[str, str] = {name: name for name in _ORIGINS}
_INT64 = 2**63


class Head(NamedTuple):
    """Where a session's chain stands: its last sequence number and link."""

    seq: int
    link: bytes


class Row(NamedTuple):
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


class Built(NamedTuple):
    """What a batch becomes: rows to insert, the events that its writer gets back, and what it redacts.

    `erased` holds sequence numbers of events that were stored before this batch; those within it are done already.
    """

    rows: tuple[Row, ...]
    events: tuple[Event, ...]
    erased: tuple[int, ...]


def build(batch: Batch, head: Head, kind_at: Callable[[int], str | None]) -> Built:
    """Rows of a batch on top of `head`; `kind_at(seq)` is the type of a stored event of the session.

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
    rows: list[Row] = []
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
    for target in targets:
        if target > head.seq:
            at = target - head.seq - 1
            rows[at] = rows[at]._replace(body=None)
            events[at] = msgspec.structs.replace(events[at], payload=None)
    return Built(tuple(rows), tuple(events), tuple(target for target in targets if target <= head.seq))


def check_id(text: str, what: str) -> str:
    """`text` where it can be an id in every store; a `StoreError` that says why not otherwise."""
    if is_id(text):
        return text
    raise StoreError(f"{what} cannot be {text!a:.80}", hint=f"An id is 1 to {ID_LIMIT} bytes of UTF-8 without NUL")


def open_row(row: Row, previous: bytes) -> Event:
    """The event of a stored row, verified: the body against its digest, the envelope against the chain.

    `previous` is the link stored with the event before. A redacted body is not checked here: see `redacted_by`.
    Raises `StoreDamaged` that carries the finding.
    """
    code = fault_of(row, previous)
    if code is None:
        try:
            payload = None if row.body is None else open_payload(row.type, row.v, row.body)
            return _event(row, payload)
        except (msgspec.MsgspecError, KeyError, ValueError, TypeError, RecursionError):
            code = "type"
    raise damaged(Finding(code, str(row.session_id), row.seq, f"event {row.seq}: {MESSAGES[code]}"))


MESSAGES = {
    "payload": "the stored payload is not the one that was appended",
    "chain": "the envelope or its place in the chain was changed",
    "gap": "the event is missing",
    "type": "the payload cannot be read as its type",
}
"""What a finding's code means, said of one event."""


def fault_of(row: Row, previous: object) -> str | None:
    """The code of what is wrong with a stored row, `None` where digest and link verify."""
    if row.body is not None and (type(row.body) is not bytes or digest(row.body) != row.digest):
        return "payload"
    if type(previous) is not bytes or type(row.digest) is not bytes:
        return "chain"
    try:
        _, seq, id_, turn, timestamp, type_, v, origin, _, digest_, _ = row
        expected = link(previous, digest_, row.session_id, seq, id_, turn, timestamp, type_, v, origin)
    except UnicodeEncodeError:
        return "chain"
    return None if expected == row.link else "chain"


def redacted_by(row: Row) -> int | None:
    """The sequence number of the event whose payload this row's event removed; `None` for every other event."""
    if row.type != _REDACT or type(row.body) is not bytes:
        return None
    try:
        payload = open_payload(row.type, row.v, row.body)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return None
    return payload.seq if isinstance(payload, Redact) else None


def damaged(finding: Finding) -> StoreDamaged:
    """The error that stands for a finding."""
    return StoreDamaged(
        f"session {finding.session_id}: {finding.message}" if finding.session_id else finding.message,
        hint="`verify` lists everything that is damaged; the events before it can be read",
        finding=finding,
    )


def _row(session_id: str, seq: int, draft: Draft, previous: bytes) -> tuple[Row, Payload]:
    id_, turn, at, payload = draft.id, draft.turn, draft.timestamp, draft.payload
    check_id(id_, "an event's id")
    if not (type(turn) is int and type(at) is int and -_INT64 <= turn < _INT64 and -_INT64 <= at < _INT64):
        name, value = ("timestamp", at) if type(turn) is int and -_INT64 <= turn < _INT64 else ("turn", turn)
        raise StoreError(f"draft {id_}: {name} is {value!r}", hint="It is a whole number of up to 63 bits")
    origin = _NAMES.get(draft.origin)
    if origin is None:
        raise StoreError(f"draft {id_}: origin is {draft.origin!r}", hint=f"It is one of {', '.join(_ORIGINS)}")
    if not isinstance(payload, Payload):
        raise StoreError(f"draft {id_}: {type(payload).__name__} is no payload", hint="See PAYLOADS")
    type_, v = type_of(payload), payload.V
    try:
        sealed = draft.sealed if isinstance(draft, SealedDraft) else seal(payload)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise StoreError(
            f"draft {id_}: the payload of {type_} cannot be stored: {type(error).__name__}",
            hint="Every field has the type that its class declares",
        ) from error
    next_ = link(previous, sealed.digest, session_id, seq, id_, turn, at, type_, v, origin)
    row = Row(session_id, seq, id_, turn, at, type_, v, origin, sealed.body, sealed.digest, next_)
    return row, sealed.payload


def _event(row: Row, payload: Payload | Unknown | None) -> Event:
    return Event(
        row.id, row.seq, row.session_id, row.turn, row.timestamp, row.type, row.v, _ORIGINS[row.origin], payload
    )


def _target(target: int, seq: int, rows: Sequence[Row], stored: int, kind_at: Callable[[int], str | None]) -> int:
    """A redaction's target where it may be redacted: an earlier event that is no redaction itself."""
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
