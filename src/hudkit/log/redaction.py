"""A text that must go, found in whatever way it was written, and taken out of a payload. Pure.

Found: as it is; escaped (JSON within JSON, markdown, character references); each longer line of it by itself; and
cut off by a limit, where eight letters or digits of its begin are left.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from hudkit.errors import ConfigError, HudkitError
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
_ENTITY = re.compile(rb"&(?:#\d{1,7}|#x[0-9A-Fa-f]{1,6}|amp|lt|gt|quot|apos);")
_SIGNS = bytes(n for n in range(128) if chr(n) not in string.ascii_letters + string.digits)
_CUT = "…".encode()

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
    """One text, and what stands in its place."""

    text: str
    mask: str
    squashed: bytes

    @property
    def raw(self) -> bytes:
        return self.text.encode()


def secret_texts(secret: str, mask: str = MASK) -> tuple[SecretText, ...]:
    """What to look for: the text without line breaks around it, and its longer lines. Raises `ConfigError` where it
    is too short."""
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
    """What a payload says in words of others, each text once; nothing where it only shows what others say."""
    if type_of(payload) in _GONE or type_of(payload) in _EMPTIED:
        return ()
    return tuple(dict.fromkeys(_strings(msgspec.to_builtins(payload))))


def contains_secret(raw: bytes, wanted: Iterable[SecretText]) -> bool:
    """Whether bytes (a text, or JSON) hold one of the texts."""
    loose = weak = None
    for needle in wanted:
        if needle.raw in raw:
            return True
        if needle.squashed:
            loose = _letters_and_digits(raw) if loose is None else loose
            if needle.squashed in loose or (needle.squashed[:_ENOUGH] in loose and _cut_off(raw, needle.squashed)):
                return True
        else:
            weak = raw.translate(None, b"\\") if weak is None else weak
            if needle.raw.translate(None, b"\\") in weak:
                return True
    return False


def _letters_and_digits(raw: bytes) -> bytes:
    """What stays the same however a text is escaped: its letters and digits."""
    return (_ENTITY.sub(b"", raw) if b"&" in raw else raw).translate(None, _SIGNS)


def remove_secrets(payload: Payload, wanted: Sequence[SecretText], seq: int) -> Payload | None:
    """The payload of event `seq` without the texts; `None` where nothing of it can be kept."""

    def clean(text: str) -> str:
        for needle in wanted:
            text = text.replace(needle.text, needle.mask)
        return f"[redacted:{seq}]" if contains_secret(text.encode(), wanted) else text

    return _changed(payload, clean, ())


def blank_payload(payload: Payload, wanted: Sequence[SecretText], seq: int) -> Payload | None:
    """The payload of event `seq` without anything that it says; `None` where nothing of it can be kept."""
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
        found = decode_payload(kind, payload.V, msgspec.json.encode(fields))
    except (msgspec.MsgspecError, HudkitError):
        return None
    return None if isinstance(found, Unknown) else found


def _walked(value: Any, clean: Any, keep: Iterable[str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [_walked(one, clean, keep) for one in value]
    if isinstance(value, dict):
        return {name: one if name in keep else _walked(one, clean, keep) for name, one in value.items()}
    return value


def _strings(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield from (value,) if value else ()
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from () if name in _STRUCTURE else _strings(one)


def _squashed(text: str) -> bytes:
    found = _letters_and_digits(text.encode())
    return found if len(found) >= _ENOUGH else b""


def _cut_off(raw: bytes, squashed: bytes) -> bool:
    """Whether what stands before an ellipsis ends with a begin of the text; or a string does, with a longer one."""
    for split, least in ((raw, _ENOUGH), (raw.replace(b'"', _CUT) + _CUT, _UNMARKED)):
        chunks = _letters_and_digits(split).split(_CUT)[:-1]
        sizes = range(least, len(squashed))
        if any(chunk.endswith(squashed[:size]) for chunk in chunks if chunk for size in sizes):
            return True
    return False


# -- reading redacted events -----------------------------------------------------------------------------------------


def restated_payload(told: EventRestate) -> Payload | None:
    """The payload that is left; `None` where this version cannot read it."""
    try:
        kind = msgspec.json.decode(told.body, type=dict[str, object]).get("type")
        found = decode_payload(str(kind), told.v, told.body.encode())
    except (msgspec.MsgspecError, HudkitError, ValueError, TypeError, KeyError):
        return None
    return None if isinstance(found, Unknown) else found


def restate(event: Event, known: Mapping[int, Payload]) -> Event:
    """The event, with what is left of its payload where it was redacted; `known` is that by sequence numbers."""
    if event.payload is not None or event.seq not in known:
        return event
    return msgspec.structs.replace(event, payload=known[event.seq])


class RestatedEvents:
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
                event = restate(event, self._known)
            yield event

    def _look(self, after: int) -> None:
        last = self._log.last_seq(self._session_id)
        if after >= self._from and last == self._upto:
            return
        found = {}
        for event in self._log.read(self._session_id, after=after, upto=last):
            if isinstance(event.payload, EventRestate):
                found[event.payload.seq] = restated_payload(event.payload)
        self._from, self._upto = after, last
        self._known = {seq: payload for seq, payload in found.items() if payload is not None}
