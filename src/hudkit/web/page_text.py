"""How pages write times, spans, money and counts."""

from __future__ import annotations

from datetime import datetime

from hudkit.compose import shorten
from hudkit.compose.formats.html.hast import HtmlElement
from hudkit.web.elements import e


def clock(timestamp: int, *, seconds: bool = False) -> HtmlElement:
    """Return a time (Unix ms) as time of day on this machine, with the date for programs and at a touch."""
    moment = _local_time(timestamp)
    text = moment.strftime("%H:%M:%S" if seconds else "%H:%M")
    return e("time", text, datetime=moment.isoformat(timespec="milliseconds"), title=moment.strftime("%c"))


def clock_time(timestamp: int) -> str:
    """Return a time (Unix ms) as `14:05` on this machine."""
    return _local_time(timestamp).strftime("%H:%M")


def day_and_time(timestamp: int) -> HtmlElement:
    """Return a time (Unix ms) as `2026-11-18 14:05` on this machine; a dash where it is not known."""
    if timestamp <= 0:
        return e("time", "–")
    moment = _local_time(timestamp)
    return e("time", moment.strftime("%Y-%m-%d %H:%M"), datetime=moment.isoformat(timespec="milliseconds"))


def duration(ms: float) -> str:
    """Return a span of time as people say it: `2.5 s`, `40 s`, `12 min`, `3.0 h`."""
    seconds = max(0.0, ms / 1000)
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def dollars(cost: float) -> str:
    """Return a cost with as many digits as say something: `$0.0042`, `$12.50`."""
    return f"${cost:.4f}" if 0 < cost < 1 else f"${cost:,.2f}"


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return a number of things: `1 reply`, `2 replies`; without a `plural` it is the noun with an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or noun + 's'}"


def excerpt(text: str, limit: int = 80) -> str:
    """Return the beginning of a text in one line, of at most `limit` characters."""
    return shorten(" ".join(text.split()), limit)


def _local_time(timestamp: int) -> datetime:
    try:
        return datetime.fromtimestamp(timestamp / 1000).astimezone()
    except (ValueError, OverflowError, OSError):  # a clock that was far off
        return datetime.fromtimestamp(0).astimezone()
