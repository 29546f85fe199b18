"""The time of this machine, and ids that follow it: the one place where hudkit reads a real clock.

Everything that folds or composes takes its clock and its ids from outside (`Hud.open(clock=..., ids=...)`), so that a
replay gives the same bytes. These two are what a caller gets who names none.
"""

from __future__ import annotations

import time


def unix_ms() -> int:
    """Return the time of this machine in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def uuid7() -> str:
    """Return a new UUIDv7 as text with dashes: unique, and in the order of time by itself."""
    # Imported late: a short-lived hook process that makes no event does not load it.
    import uuid_utils

    return str(uuid_utils.uuid7())


def new_id() -> str:
    """Return a new UUIDv7 as 32 hexadecimal digits: a part of an id that begins with what it is of."""
    return uuid7().replace("-", "")
