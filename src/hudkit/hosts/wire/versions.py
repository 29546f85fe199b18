"""The version of the wire and how versions of hudkit compare."""

from __future__ import annotations

import re

PROTOCOL = 3
"""Raised when a field changes its meaning, goes away, or a request gains one: unknown fields are refused."""

PROTOCOL_HEADER = "hudkit-protocol"
VERSION_HEADER = "hudkit-version"
HEADERS = (PROTOCOL_HEADER, VERSION_HEADER)
"""In every request and in every answer."""

MAX_BODY = 1024 * 1024
"""Bytes of a request's body; more is answered with 413."""

_NUMBERS = re.compile(r"\d{1,9}")


def newer(one: str, other: str) -> bool:
    """Whether version `one` is newer than `other`, by the numbers of its release (`0.10.0` is newer than `0.9.2`);
    what is no version is older than every version."""
    return _release(one) > _release(other)


def _release(version: str) -> tuple[int, ...]:
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", version)
    numbers = [int(number) for number in _NUMBERS.findall(found[0])] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
