"""Times as an agent reads them, in UTC: ISO 8601 to the second, or short, as far as they differ from now."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import lru_cache

DAY = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()


def iso(at: int) -> str:
    """`2024-01-15T10:30:00`; `at` is Unix ms."""
    days, rest = divmod(at // 1000, 86_400)
    return f"{_date(days)}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def short(at: int, now: int) -> str:
    """`10:30` on the day of `now`, else `01-15 10:30`, else `2023-01-15 10:30`."""
    if at // DAY == now // DAY:
        minutes = at % DAY // 60_000
        return f"{minutes // 60:02}:{minutes % 60:02}"
    when = datetime.fromtimestamp(at // 1000, UTC)
    this = datetime.fromtimestamp(now // 1000, UTC)
    return when.strftime("%m-%d %H:%M" if when.year == this.year else "%Y-%m-%d %H:%M")


@lru_cache(64)
def _date(days: int) -> str:
    return date.fromordinal(_EPOCH + days).isoformat()
