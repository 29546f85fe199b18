"""The window as the host reports it: the last readings, and what the last call was told."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import Call, CompactAfter, CompactUndone, ContextSnapshot

READINGS_KEPT = 5
"""As many readings as the trend looks at (features, A4)."""


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens in use, as reported at an event."""

    used_tokens: int
    limit_tokens: int | None
    seq: int


class WindowFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """`used_tokens` is `None` while it is unknown: before the first report, and after a compaction until the next.

    `call` is the last composed call, at `call_seq` and time `call_at` (Unix ms); `calls` counts
    them.
    """

    used_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int = 0
    model: str = ""
    source: str = ""
    readings: tuple[Reading, ...] = ()
    call: Call | None = None
    call_seq: int = 0
    call_at: int = 0
    calls: int = 0


HANDLES = (ContextSnapshot, CompactAfter, CompactUndone)


def reduce(window: WindowFacts, event: Event) -> WindowFacts:
    match event.payload:
        case ContextSnapshot() as taken:
            changed: dict[str, object] = {}
            if taken.used_tokens is not None:
                changed = {"used_tokens": taken.used_tokens, "source": taken.source}
                last = window.readings[-1].used_tokens if window.readings else None
                if taken.used_tokens != last:  # a call repeats what the response before it reported
                    reading = Reading(taken.used_tokens, taken.limit_tokens or window.limit_tokens, event.seq)
                    changed["readings"] = (*window.readings, reading)[-READINGS_KEPT:]
            for name in ("limit_tokens", "output_tokens", "model"):
                if getattr(taken, name):
                    changed[name] = getattr(taken, name)
            if taken.call is not None:
                changed |= {
                    "call": taken.call,
                    "call_seq": event.seq,
                    "call_at": event.timestamp,
                    "calls": window.calls + 1,
                }
            return msgspec.structs.replace(window, **changed)
        case CompactAfter(used_tokens=used):
            return msgspec.structs.replace(window, used_tokens=used, source="estimated" if used else "", readings=())
        case CompactUndone():
            return msgspec.structs.replace(window, used_tokens=None, source="", readings=())
    return window
