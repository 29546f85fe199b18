"""How an agent's attention is shared among its rooms: fixed percents, and `%*`, an equal share of what is left."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hudkit.errors import OperationError

WHOLE = 100.0
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%?")
_DYNAMIC = ("%*", "*%", "*")


def shares(attention: Mapping[int, float], rooms: Iterable[int]) -> dict[int, float]:
    """Percent of each room, in the order of `rooms`: 100 together, or less where all are fixed.

    Fixed ones that are over 100 together are scaled down to it, and leave nothing to the others.
    """
    ids = list(rooms)
    fixed = {room: attention[room] for room in ids if room in attention}
    total = sum(fixed.values())
    if total > WHOLE:
        fixed = {room: one * WHOLE / total for room, one in fixed.items()}
        total = WHOLE
    free = len(ids) - len(fixed)
    each = (WHOLE - total) / free if free else 0.0
    return {room: fixed.get(room, each) for room in ids}


def parse_share(value: object) -> float | None:
    """What an agent wrote as its attention: 0 to 100, such as `30`, `30.5` or `"30%"`; `None` for `"%*"`.

    Raises `OperationError` for anything else.
    """
    if isinstance(value, str):
        text = value.strip()
        if text in _DYNAMIC:
            return None
        if found := _PERCENT.fullmatch(text):
            value = float(found[1])
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= WHOLE:
        return float(value)
    raise OperationError(
        f"{str(value)[:40]!r} is no share of attention",
        hint='Say a percent such as "30%", or "%*" for an equal share',
    )


def check_share(attention: Mapping[int, float], room: int, percent: float | None) -> None:
    """Raise `OperationError` where `room` cannot have this percent, because all would have more than 100 then."""
    others = sum(one for id, one in attention.items() if id != room)
    if percent is not None and others + percent > WHOLE + 1e-9:
        raise OperationError(
            f"{percent:g}% for room {room} would make {others + percent:g}% in all",
            hint=f"{WHOLE - others:g}% are left: say less, lower another room first, or say %*",
        )
