"""Times as an agent reads them, in UTC: ISO 8601 to the second, or short, as far as they differ from now."""

from __future__ import annotations

from datetime import UTC, datetime

DAY = 86_400_000


def iso(at: int) -> str:
    """`2024-01-15T10:30:00`; `at` is Unix ms."""
    return datetime.fromtimestamp(at // 1000, UTC).replace(tzinfo=None).isoformat()


def short(at: int, now: int) -> str:
    """`10:30` on the day of `now`, else `01-15 10:30`, else `2023-01-15 10:30`."""
    when = datetime.fromtimestamp(at // 1000, UTC)
    if at // DAY == now // DAY:
        return when.strftime("%H:%M")
    this = datetime.fromtimestamp(now // 1000, UTC)
    return when.strftime("%m-%d %H:%M" if when.year == this.year else "%Y-%m-%d %H:%M")
