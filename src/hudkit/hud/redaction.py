"""A text out of the log: which events hold it, and the events that take it out of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from hudkit.errors import ConfigError
from hudkit.hud.session_core import SessionCore
from hudkit.log.event import Event, Origin
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import EventRestate, EventUndo, Payload, Redact, Unknown
from hudkit.log.redaction import (
    MIN_SECRET_CHARACTERS,
    SecretText,
    blank_payload,
    contains_secret,
    free_texts,
    remove_secrets,
    restated_payload,
    secret_texts,
)
from hudkit.sections.state import undone_seqs

MAX_ROUNDS = 5
"""How often what was appended meanwhile is looked through, too."""

_ADDING_TYPES = (".set", ".update", ".add", ".record", ".encountered", ".open", ".edit", ".define", ".ran", ".made")
"""Ends of types that only say something new: without it, such an event is undone. To undo another would bring back
what it took away."""


class TextHit(msgspec.Struct, frozen=True):
    """An event that holds a text."""

    session: str
    seq: int
    type: str


class RedactionResult(msgspec.Struct, frozen=True):
    """`hits` are the events whose payloads went; `unredactable` those that cannot go: reasons of
    earlier redactions."""

    hits: tuple[TextHit, ...] = ()
    unredactable: tuple[TextHit, ...] = ()


def needles_of_events(session: SessionCore, seqs: Iterable[int]) -> tuple[SecretText, ...]:
    """Return the texts of the named events, to be searched for wherever else their session holds them.

    Raises `ConfigError` where there is no such event, or nothing is left of it to be redacted.
    """
    needles: dict[str, SecretText] = {}
    last = session.log.last_seq(session.id)
    for seq in sorted(set(seqs)):
        if not 1 <= seq <= last:
            raise ConfigError(f"session {session.id} has no event {seq}", hint=f"It has events 1 to {last}")
        event = next(session.log.read(session.id, after=seq - 1, upto=seq))
        if event.payload is None or isinstance(event.payload, Redact):
            what = "is redacted already" if event.payload is None else "is a redaction, and holds only a number"
            raise ConfigError(f"event {seq} {what}", hint="`hudkit log` lists the events")
        if isinstance(event.payload, Payload):
            for n, text in enumerate(
                text for text in free_texts(event.payload) if len(text.strip()) >= MIN_SECRET_CHARACTERS
            ):
                mask = f"[redacted:{seq}.{n}]" if n else f"[redacted:{seq}]"
                for needle in secret_texts(text, mask):
                    needles.setdefault(needle.text, needle)
    return tuple(sorted(needles.values(), key=lambda needle: -len(needle.text)))


def find_text(
    log: EventLog, wanted: Sequence[SecretText], sessions: Iterable[str], after: Mapping[str, int] | None = None
) -> tuple[TextHit, ...]:
    """Return the events of these sessions that hold one of the texts, in order.

    With `after`, only those behind it, by session. Raises a `StoreError` where the log cannot be read to its end.
    """
    return tuple(
        TextHit(name, event.seq, event.type)
        for name in (sessions if wanted else ())
        for event in log.read(name, after=(after or {}).get(name, 0), past_damage=True)
        if event.payload is not None and contains_secret(_raw(event), wanted)
    )


def redact_texts(
    sessions: Mapping[str, SessionCore], wanted: Sequence[SecretText], named: Sequence[int] = (), reason: str = ""
) -> RedactionResult:
    """Take the texts out of every event of these sessions that holds one, and return what was redacted.

    Of the `named` events (of the only session) all goes that they say. What others append meanwhile is looked through
    as well.

    Raises a `StoreError`; what was redacted before it stays so.
    """
    hits: list[TextHit] = []
    unredactable: list[TextHit] = []
    seen: dict[str, int] = {}
    for _ in range(MAX_ROUNDS):
        before = dict(seen)
        fresh = 0
        for name, session in sessions.items():
            seen[name] = session.log.last_seq(name)
            if seen[name] == before.get(name):
                continue
            fresh_hits = find_text(session.log, wanted, (name,), before)
            if name not in before:
                others = {hit.seq for hit in fresh_hits}
                fresh_hits += tuple(TextHit(name, seq, _at(session, seq).type) for seq in named if seq not in others)
            can = sorted((hit for hit in fresh_hits if hit.type != "redact"), key=lambda hit: hit.seq)
            unredactable += [hit for hit in fresh_hits if hit.type == "redact"]
            if can:
                session.append(*_payloads(session, can, wanted, frozenset(named), reason), origin=Origin.USER)
                hits += can
                fresh += len(can)
        if not fresh:
            break
    return RedactionResult(tuple(hits), tuple(unredactable))


def _payloads(
    session: SessionCore, hits: Sequence[TextHit], wanted: Sequence[SecretText], named: frozenset[int], reason: str
) -> list[Payload]:
    payloads: list[Payload] = []
    gone = undone_seqs(session.log.read(session.id, past_damage=True)) if named else frozenset()
    for hit in hits:
        event = _at(session, hit.seq)
        payloads.append(Redact(hit.seq, reason))
        target, payload = hit.seq, event.payload
        if isinstance(payload, EventRestate):
            target, payload = payload.seq, restated_payload(payload)
        change = blank_payload if hit.seq in named else remove_secrets
        rest = change(payload, wanted, target) if isinstance(payload, Payload) else None
        if rest is not None and not contains_secret(_json(rest), wanted):
            payloads.append(EventRestate(target, rest.V, _json(rest).decode()))
            if hit.seq in named and event.type.endswith(_ADDING_TYPES) and hit.seq not in gone:
                payloads.append(EventUndo(hit.seq, "redacted"))
    return payloads


def _at(session: SessionCore, seq: int) -> Event:
    return next(session.log.read(session.id, after=seq - 1, upto=seq))


def _raw(event: Event) -> bytes:
    return event.payload.body if isinstance(event.payload, Unknown) else _json(event.payload)


def _json(payload: object) -> bytes:
    return msgspec.json.encode(payload)
