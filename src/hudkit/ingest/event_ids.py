"""Names for what a host tells: the same message gives the same event ids, in every process and in every fork.

A key is made of what survives a restart, a revert and a fork: the role and creation time of the message, the id of
the tool call, the kind of event and its number. Its id is a UUID of version 8: the message's time in the first 48
bits, as in version 7, and 74 bits of a digest. So the ids alone tell which facts are recorded, and how far the
transcript was heard.
"""

from __future__ import annotations

from hashlib import blake2b

from hudkit.transcripts import Message

_TIME = (1 << 48) - 1


def fingerprint(message: Message) -> str:
    """What a message is known by."""
    return f"{message.role}:{message.created or message.id}"


def event_id(message: Message, unit: str, kind: str, n: int, says: str = "") -> str:
    """The id of the `n`-th event of a kind that a unit (a tool call, say) of a message tells; where it is named by
    what it `says`, of the one that says it."""
    key = f"opencode\0{fingerprint(message)}\0{unit}\0{kind}\0{says or n}".encode("utf-8", "replace")
    digest = int.from_bytes(blake2b(key, digest_size=10).digest())
    bits = (message.created & _TIME) << 80 | 8 << 76 | (digest >> 68) << 64 | 2 << 62 | digest & ((1 << 62) - 1)
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def message_time(event_id: str) -> int | None:
    """The time (Unix ms) of the message that told an event; `None` where no message did."""
    if event_id[14:15] != "8" or len(event_id) != 36:
        return None
    try:
        return int(event_id[:8] + event_id[9:13], 16)
    except ValueError:
        return None
