"""Physical redaction of a given text: found in whatever way it was written, taken out of payloads, and read without.

A user names a text that must go (`hudkit redact`). This module finds the events that hold it and says what is left
of each payload; the store then removes the payload's bytes. (`secret_patterns` is the other way round: it knows the
forms of secrets, not a text, and acts on every event before it is stored.)

A text is found as it is; escaped (JSON within JSON, markdown, character references); each longer line of it by
itself; and cut off by a limit, where eight letters or digits of its beginning are left. What survives all escaping
is its letters and digits, so those are compared:

    wanted: pass "word" 12345678       letters and digits: password12345678
    held:   {\\"pass \\\\\\"word\\\\\\" 1234…   letters and digits up to the cut: password1234
            -> found: what stands before the ellipsis ends with a beginning of at least eight characters
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.errors import ConfigError, HudkitError
from hudkit.lazy import lazy_pattern
from hudkit.log.codec import decode_payload, escape_surrogates
from hudkit.log.event import Event
from hudkit.log.event_log import EventLog
from hudkit.log.payloads import EventRestate, Payload, Unknown, type_of

MIN_SECRET_CHARACTERS = 6
"""Characters of a text that can be looked for: a shorter one is everywhere."""

MASK = "[redacted]"

_LINE = 16  # characters from which on a line of a longer text is looked for by itself
_ENOUGH = 8  # letters and digits by which a text is known, whatever the signs between them were made
_UNMARKED = 24  # the same, where nothing says that it was cut off
_ENTITY = lazy_pattern(rb"&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")
_SIGNS = bytes(n for n in range(128) if not chr(n).isalnum())
_CUT = "…".encode()
_LINE_END = "↵".encode()  # what frames show where a line ends
_MARKUP = b"\\`"  # signs that frames put into a text

_GONE = frozenset({"frame.base", "frame.delta", "section.prepared"})
"""Types of which nothing is left: bytes that were shown, and trees that are made again."""

_EMPTIED: dict[str, tuple[str, ...]] = {"compact.before": ("state",)}
"""Fields that are copies of the state."""

_STRUCTURE = frozenset(
    (
        *("type", "id", "ids", "by", "section", "relation", "session_id", "status", "priority"),
        *("host", "host_session", "directory", "agent", "model", "trigger", "runner"),
    )
)
"""Fields that hold no free text."""


class SecretText(msgspec.Struct, frozen=True):
    """One text that must go, what stands in its place, and its letters and digits (empty: too few to go by)."""

    text: str
    mask: str
    squashed: bytes

    @property
    def raw(self) -> bytes:
        """Return the text as UTF-8."""
        return self.text.encode()


def secret_texts(secret: str, mask: str = MASK) -> tuple[SecretText, ...]:
    """Return what to look for: the text without line breaks around it, and its longer lines, the longest first.

    Raises `ConfigError` where it is too short.
    """
    whole = escape_surrogates(secret).strip("\r\n")
    if len(whole.strip()) < MIN_SECRET_CHARACTERS:
        raise ConfigError(
            f"the text has {len(whole.strip())} characters; it would be found everywhere",
            hint=f"Give at least {MIN_SECRET_CHARACTERS}, or name the events by their numbers",
        )
    lines = [line.strip() for line in re.split(r"[\r\n\t]+", whole)]
    texts = dict.fromkeys((whole, *(line for line in lines if len(line) >= _LINE)))
    return tuple(SecretText(text, mask, _squashed(text)) for text in sorted(texts, key=len, reverse=True))


def free_texts(payload: Payload) -> tuple[str, ...]:
    """Return what a payload says in the words of others, each text once.

    Nothing for a payload that only shows what other events say.
    """
    if type_of(payload) in _GONE or type_of(payload) in _EMPTIED:
        return ()
    return tuple(dict.fromkeys(_strings(msgspec.to_builtins(payload))))


def contains_secret(raw: bytes, wanted: Iterable[SecretText]) -> bool:
    """Return whether bytes (a text, or JSON) hold one of the texts."""
    loose = weak = None
    # The cheap comparisons come first; the bytes are reduced once, and only where a text is not there as it is.
    for needle in wanted:
        if needle.raw in raw:
            return True
        if needle.squashed:
            loose = _letters_and_digits(raw) if loose is None else loose
            if needle.squashed in loose or (needle.squashed[:_ENOUGH] in loose and _cut_off(raw, needle.squashed)):
                return True
        else:
            weak = raw.translate(None, _MARKUP) if weak is None else weak
            if needle.raw.translate(None, _MARKUP) in weak:
                return True
    return False


def _letters_and_digits(raw: bytes) -> bytes:
    """What stays the same however a text is escaped: its letters and digits."""
    return (_ENTITY.sub(b"", raw) if b"&" in raw else raw).replace(_LINE_END, b"").translate(None, _SIGNS)


def remove_secrets(payload: Payload, wanted: Sequence[SecretText], seq: int) -> Payload | None:
    """Return the payload of event `seq` without the texts; `None` where nothing of it can be kept."""
    return _changed(payload, lambda text: _clean(text, wanted, f"[redacted:{seq}]"), ())


def remove_from_json(raw: bytes, wanted: Sequence[SecretText]) -> bytes:
    """Return JSON without the texts, in values and in names; the same bytes where none is in it.

    Raises `msgspec.DecodeError` for what is no JSON.
    """
    if not contains_secret(raw, wanted):
        return raw
    return msgspec.json.encode(_without_names(msgspec.json.decode(raw), wanted))


def _without_names(value: Any, wanted: Sequence[SecretText]) -> Any:
    if isinstance(value, dict):
        return {_clean(name, wanted): _without_names(item, wanted) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_names(item, wanted) for item in value]
    return _clean(value, wanted) if isinstance(value, str) else value


def _clean(text: str, wanted: Sequence[SecretText], mask: str = MASK) -> str:
    for needle in wanted:
        text = text.replace(needle.text, needle.mask)
    return mask if contains_secret(text.encode(), wanted) else text


def blank_payload(payload: Payload, wanted: Sequence[SecretText], seq: int) -> Payload | None:
    """Return the payload of event `seq` without anything that it says; `None` where nothing of it can be kept."""
    masks = {needle.text: needle.mask for needle in wanted}
    return _changed(payload, lambda text: masks.get(text, f"[redacted:{seq}]") if text else text, _STRUCTURE)


def _changed(payload: Payload, clean: Any, keep: Iterable[str]) -> Payload | None:
    kind = type_of(payload)
    if kind in _GONE:
        return None
    emptied = _EMPTIED.get(kind, ())
    fields = {
        name: "" if name in emptied else value if name == "type" or name in keep else _walked(value, clean, keep)
        for name, value in msgspec.to_builtins(payload).items()
    }
    try:
        payload_left = decode_payload(kind, payload.V, msgspec.json.encode(fields))
    except (msgspec.MsgspecError, HudkitError):
        return None
    return None if isinstance(payload_left, Unknown) else payload_left


def _walked(value: Any, clean: Any, keep: Iterable[str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_walked(item, clean, keep) for item in value]
    if isinstance(value, dict):
        return {name: item if name in keep else _walked(item, clean, keep) for name, item in value.items()}
    return value


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield from (value,) if value else ()
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from () if name in _STRUCTURE else _strings(item)


def _squashed(text: str) -> bytes:
    squashed = _letters_and_digits(text.encode())
    return squashed if len(squashed) >= _ENOUGH else b""


def _cut_off(raw: bytes, squashed: bytes) -> bool:
    """Whether what stands before an ellipsis ends with a begin of the text; or a string does, with a longer one."""
    # A limit of ours leaves an ellipsis. One of another program may leave nothing: there, the end of a string counts
    # as a cut, but only behind a longer beginning, which is hardly there by chance.
    for split, least in ((raw, _ENOUGH), (raw.replace(b'"', _CUT) + _CUT, _UNMARKED)):
        chunks = _letters_and_digits(split).split(_CUT)[:-1]
        sizes = range(least, len(squashed))
        if any(chunk.endswith(squashed[:size]) for chunk in chunks if chunk for size in sizes):
            return True
    return False


# -- reading redacted events -----------------------------------------------------------------------------------------


def restated_payload(restatement: EventRestate) -> Payload | None:
    """Return the payload that is left of a redacted event; `None` where this version cannot read it."""
    try:
        kind = msgspec.json.decode(restatement.body, type=dict[str, object]).get("type")
        payload = decode_payload(str(kind), restatement.v, restatement.body.encode())
    except (msgspec.MsgspecError, HudkitError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(payload, Unknown) else payload


def restate(event: Event, payloads: Mapping[int, Payload]) -> Event:
    """Return the event with what is left of its payload where it was redacted.

    `payloads` holds what is left, by sequence number.
    """
    if event.payload is not None or event.seq not in payloads:
        return event
    return msgspec.structs.replace(event, payload=payloads[event.seq])


class RestatedEvents:
    """Reads one session with what is left of its redacted events; it looks for that only when it meets one."""

    def __init__(self, log: EventLog, session_id: str) -> None:
        self._log = log
        self._session_id = session_id
        self._payloads: dict[int, Payload] = {}
        self._from = self._upto = 0  # what was looked through

    def __call__(self, events: Iterator[Event]) -> Iterator[Event]:
        """Return the events, redacted ones with what is left of them. Raises a `StoreError` as the log does."""
        for event in events:
            if event.payload is None:
                self._find_restatements(event.seq)
                event = restate(event, self._payloads)
            yield event

    def _find_restatements(self, after: int) -> None:
        last = self._log.last_seq(self._session_id)
        # A restatement stands behind the event that it is of, and what was looked through stays as it was.
        if after >= self._from and last == self._upto:
            return
        payloads = {}
        for event in self._log.read(self._session_id, after=after, upto=last, past_damage=True):
            if isinstance(event.payload, EventRestate):
                payloads[event.payload.seq] = restated_payload(event.payload)
        self._from, self._upto = after, last
        self._payloads = {seq: payload for seq, payload in payloads.items() if payload is not None}
