"""Payloads to bytes and back, with secrets taken out on the way in, and the digests of the hash chain.

A session's events form a hash chain. Each event has two digests: `payload_digest` over its encoded payload, and
`chain_link` over the link of the event before, that digest and every field of the envelope:

    link 0 = 32 zero bytes (GENESIS)
    link 1 = H(link 0 + H(payload 1) + envelope 1)      envelope: session, seq, id, turn, time, type, v, origin
    link 2 = H(link 1 + H(payload 2) + envelope 2)

Whoever changes a payload breaks its digest; whoever changes an envelope, or removes or moves an event, breaks the
links from there on. Because the link covers the payload's digest and not its bytes, a payload can be redacted later:
the digest stays in the chain, and every link still verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Union

import msgspec

from hudkit.lazy import blake2b
from hudkit.log.event import EventDraft, Origin
from hudkit.log.payloads import PAYLOADS, Payload, Unknown
from hudkit.log.secret_patterns import replace_secrets

# -- older versions of a payload -------------------------------------------------------------------------------------


Upcast = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTS: dict[tuple[str, int], Upcast] = {}
"""`(type, v)` to the step that makes a payload of version `v + 1` of it. Empty while every type is at version 1.

A step is pure and is never removed: logs that were written before it exist.
"""


def _upcast(
    type_: str, v: int, body: dict[str, Any], to: int, steps: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> dict[str, Any] | None:
    """Return `body` brought from version `v` to version `to`, one step at a time; `None` where a step is missing."""
    while v < to:
        step = steps.get((type_, v))
        if step is None:
            return None
        body, v = step(body), v + 1
    return body


_encode = msgspec.json.Encoder().encode
GENESIS = bytes(32)
"""The link before a session's first event."""


class EncodedPayload(msgspec.Struct, frozen=True, gc=False):
    """A payload as it is stored: without secrets, encoded, with the digest that the chain covers."""

    payload: Payload
    body: bytes
    digest: bytes


class EncodedDraft(EventDraft, frozen=True):
    """A draft whose payload is that of `sealed`: logs store it as it is, and do not encode it again."""

    sealed: EncodedPayload


ID_LIMIT = 400
"""Bytes of UTF-8 in a session's or an event's id; so that the high-water mark fits one disk sector."""


def is_id(text: str) -> bool:
    """Return whether `text` can be the id of a session or an event: 1 to 400 bytes of UTF-8 without NUL."""
    if type(text) is not str or not text or "\0" in text:
        return False
    try:
        return len(text if text.isascii() else text.encode()) <= ID_LIMIT
    except UnicodeEncodeError:
        return False


def escape_surrogates(text: str) -> str:
    """Return `text` with lone surrogates, which UTF-8 cannot carry, written out as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def encode_payload(payload: Payload) -> EncodedPayload:
    """Encode a payload; what looks like a secret is replaced before anything is stored or shown.

    Returns the payload as a reader will get it (it is decoded from the very bytes that are stored), those bytes, and
    their digest. Raises `TypeError`, `ValueError` or `msgspec.ValidationError` where a field is not of its declared
    type.
    """
    try:
        body = _encode(payload)
    except UnicodeEncodeError:
        body = _encode(_mend(msgspec.to_builtins(payload)))
    # On the encoded bytes: one pass over all fields, and nothing unredacted is ever digested or handed on.
    if payload.HAS_WORDS:
        body = replace_secrets(body)
    return EncodedPayload(_decoder(type(payload))(body), body, payload_digest(body))


def encode_draft(id: str, timestamp: int, turn: int, origin: Origin, payload: Payload) -> EncodedDraft:
    """Return a draft that is encoded now, for a caller that looks at what a log will hold before it is appended.

    Raises what `encode_payload` raises.
    """
    sealed = encode_payload(payload)
    return EncodedDraft(id, timestamp, turn, origin, sealed.payload, sealed)


@cache
def _decoder(kind: type[Payload]) -> Callable[[bytes], Any]:
    """A decoder for each type that is met: one for all of them costs a process that reads a log 5 ms."""
    union: Any = Union[kind, _NoPayload]  # noqa: UP007 (built at run time)
    return msgspec.json.Decoder(union).decode


class _NoPayload(msgspec.Struct, tag_field="type", tag=""):
    """Beside the type that is decoded: bytes without a tag are refused as in a union, and only there."""


def payload_digest(body: bytes) -> bytes:
    """Return 32 bytes that stand for a payload in the chain, also after the payload itself was redacted."""
    return blake2b(body, digest_size=32).digest()


def chain_link(
    previous: bytes,
    digest: bytes,
    session_id: str,
    seq: int,
    id: str,
    turn: int,
    timestamp: int,
    type_: str,
    v: int,
    origin: str,
) -> bytes:
    """Return the chain's next link, 32 bytes.

    It covers the link before it, the payload's digest and every field of the envelope. The two ids hold no NUL
    (stores refuse it), so no two envelopes are written alike.
    """
    envelope = f"{session_id}\0{seq}\0{id}\0{turn}\0{timestamp}\0{type_}\0{v}\0{origin}"
    return blake2b(previous + digest + envelope.encode(), digest_size=32).digest()


def decode_payload(
    type_: str, v: int, body: bytes, *, steps: Mapping[tuple[str, int], Upcast] = UPCASTS
) -> Payload | Unknown:
    """Return the payload in stored bytes; `Unknown` for an unknown type, a newer version or a missing upcast.

    Raises `msgspec.DecodeError` where the bytes are not a payload of their type.
    """
    kind = PAYLOADS.get(type_)
    if kind is None or v > kind.V:
        return Unknown(type_, v, body)
    if v < kind.V:
        raw = _upcast(type_, v, msgspec.json.decode(body), kind.V, steps)
        return Unknown(type_, v, body) if raw is None else msgspec.convert(raw, kind)
    payload: Payload | _NoPayload = _decoder(kind)(body)
    if isinstance(payload, _NoPayload):
        raise msgspec.ValidationError(f"payload of {type_} has an empty tag")
    return payload


def _mend(value: Any) -> Any:
    if isinstance(value, str):
        return escape_surrogates(value)
    if isinstance(value, list | tuple):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value
