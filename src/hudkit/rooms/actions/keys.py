"""Keys of rooms: 192 random bits, stored as keyed digests, compared in constant time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from hmac import compare_digest

from hudkit.rooms.world import Key

PREFIX = "hudroom_"
"""How a key begins; `events.redact` knows it, so that no log holds one."""


def new_key(bits: str) -> str:
    """A key of random hexadecimal digits."""
    return PREFIX + bits


def digest(key: str, salt: str) -> str:
    """What is stored of a key."""
    return blake2b(key.encode("utf-8", "replace"), key=salt.encode()[:64], digest_size=32).hexdigest()


def fitting(keys: Iterable[Key], key: str) -> str | None:
    """The label of the key that fits. All are compared, whole, whichever fits."""
    found = None
    for one in keys:
        if compare_digest(digest(key, one.salt), one.digest):
            found = one.label
    return found
