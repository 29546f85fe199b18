"""A text that must go, found in whatever way it was written, and taken out of a payload. Pure.

Found: as it is; escaped (JSON within JSON, markdown, character references); each longer line of it by itself; and
cut off by a limit, where eight letters or digits of its begin are left.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from hudkit.errors import ConfigError, HudkitError
from hudkit.log.codec import open_payload, printable
from hudkit.log.payloads import Payload, Unknown, type_of

LEAST = 6
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


class Needle(msgspec.Struct, frozen=True):
    """One text, and what stands in its place."""

    text: str
    mask: str
    squashed: bytes

    @property
    def raw(self) -> bytes:
        return self.text.encode()


def needles(secret: str, mask: str = MASK) -> tuple[Needle, ...]:
    """What to look for: the text without line breaks around it, and its longer lines. Raises `ConfigError` where it
    is too short."""
    whole = printable(secret).strip("\r\n")
    if len(whole.strip()) < LEAST:
        raise ConfigError(
            f"the text has {len(whole.strip())} characters; it would be found everywhere",
            hint=f"Give at least {LEAST}, or name the events by their numbers",
        )
    lines = [line.strip() for line in re.split(r"[\r\n\t]+", whole)]
    texts = dict.fromkeys((whole, *(line for line in lines if len(line) >= _LINE)))
    return tuple(Needle(text, mask, _squashed(text)) for text in sorted(texts, key=len, reverse=True))


def free_texts(payload: Payload) -> tuple[str, ...]:
    """What a payload says in words of others, each text once; nothing where it only shows what others say."""
    if type_of(payload) in _GONE or type_of(payload) in _EMPTIED:
        return ()
    return tuple(dict.fromkeys(_strings(msgspec.to_builtins(payload))))


def holds(raw: bytes, wanted: Iterable[Needle]) -> bool:
    """Whether bytes (a text, or JSON) hold one of the texts."""
    loose = weak = None
    for needle in wanted:
        if needle.raw in raw:
            return True
        if needle.squashed:
            loose = squash(raw) if loose is None else loose
            if needle.squashed in loose or (needle.squashed[:_ENOUGH] in loose and _cut_off(raw, needle.squashed)):
                return True
        else:
            weak = raw.translate(None, b"\\") if weak is None else weak
            if needle.raw.translate(None, b"\\") in weak:
                return True
    return False


def squash(raw: bytes) -> bytes:
    """What stays the same however a text is escaped: its letters and digits."""
    return (_ENTITY.sub(b"", raw) if b"&" in raw else raw).translate(None, _SIGNS)


def masked(payload: Payload, wanted: Sequence[Needle], seq: int) -> Payload | None:
    """The payload of event `seq` without the texts; `None` where nothing of it can be kept."""

    def clean(text: str) -> str:
        for needle in wanted:
            text = text.replace(needle.text, needle.mask)
        return f"[redacted:{seq}]" if holds(text.encode(), wanted) else text

    return _changed(payload, clean, ())


def blanked(payload: Payload, wanted: Sequence[Needle], seq: int) -> Payload | None:
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
        found = open_payload(kind, payload.V, msgspec.json.encode(fields))
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
    found = squash(text.encode())
    return found if len(found) >= _ENOUGH else b""


def _cut_off(raw: bytes, squashed: bytes) -> bool:
    """Whether what stands before an ellipsis ends with a begin of the text; or a string does, with a longer one."""
    for split, least in ((raw, _ENOUGH), (raw.replace(b'"', _CUT) + _CUT, _UNMARKED)):
        chunks = squash(split).split(_CUT)[:-1]
        sizes = range(least, len(squashed))
        if any(chunk.endswith(squashed[:size]) for chunk in chunks if chunk for size in sizes):
            return True
    return False
