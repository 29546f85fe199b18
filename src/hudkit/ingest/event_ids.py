"""Ids of ingested events: the same message gives the same ids, in every process and in every fork.

An id is made of what survives a restart, a revert and a fork: the role and creation time of the message, the id of
the tool call, the type of the event and its number among its like. It is a UUID of version 8: the message's time in
the first 48 bits (as in version 7), then 74 bits of a digest. So the log alone tells which facts are recorded, and up
to which message a transcript was read.

For example, a shell call `c3` in a response that was created at 1795000000000 failed. The event is named by
`assistant:1795000000000`, `call:c3`, `error.encountered` and 0, and its id begins with 01a1ee56-5e00-8, which is that
time in hexadecimal. Uploaded again tomorrow, or from a fork of the session, it has the same id and is known to be
there.
"""

from __future__ import annotations

from hashlib import blake2b

import msgspec

from hudkit.log import Origin, Payload
from hudkit.transcripts import Message

# Part of every id that was ever stored, whatever the host is: another word would record every fact a second time.
_NAMESPACE = "opencode"
_TIME_MASK = (1 << 48) - 1
_LOW_MASK = (1 << 62) - 1


class IngestEvent(msgspec.Struct, frozen=True):
    """An event that is to be appended. What is not given comes from the session: a new id, the time, the turn."""

    origin: Origin
    payload: Payload
    id: str = ""
    timestamp: int | None = None
    """Unix milliseconds."""
    turn: int | None = None


def fingerprint(message: Message) -> str:
    """Return what a message is known by: role and time, which a fork keeps, else role and id."""
    return f"{message.role}:{message.created or message.id}"


def event_id(message: Message, unit: str, kind: str, number: int, key: str = "") -> str:
    """Return the id of an event as 36 characters.

    It is the `number`-th event of a type (`kind`) from one `unit` of a message (a tool call, say). An event with a
    `key` is named by that instead of its number: a rule that is found in another order stays the same event.
    """
    name = f"{_NAMESPACE}\0{fingerprint(message)}\0{unit}\0{kind}\0{key or number}".encode("utf-8", "replace")
    digest = int.from_bytes(blake2b(name, digest_size=10).digest())
    time_bits = (message.created & _TIME_MASK) << 80
    version_and_high = 8 << 76 | (digest >> 68) << 64
    variant_and_low = 2 << 62 | digest & _LOW_MASK
    text = f"{time_bits | version_and_high | variant_and_low:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def message_time(event_id: str) -> int | None:
    """Return the time (Unix ms) of the message that an event was ingested from; `None` where it was from none."""
    if event_id[14:15] != "8" or len(event_id) != 36:
        return None
    try:
        return int(event_id[:8] + event_id[9:13], 16)
    except ValueError:
        return None
