"""Which messages of a transcript a compaction dropped and which it kept. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hudkit.context.compaction.receipts import Receipt
from hudkit.transcripts.transcript import CompactionPart, Message, ToolPart
from hudkit.transcripts.window import is_summary, marker_of, window


class Passage(msgspec.Struct, frozen=True):
    """What was in the window before a compaction: `dropped` left it, `kept` stayed, both in order; `since` are the
    messages after it. An earlier compaction's summary is among what was dropped."""

    dropped: tuple[Message, ...] = ()
    kept: tuple[Message, ...] = ()
    since: tuple[Message, ...] = ()

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        """How many outputs were dropped, by tool, most first."""
        counts: dict[str, int] = {}
        for message in self.dropped:
            for part in message.parts:
                if isinstance(part, ToolPart) and part.done:
                    counts[part.tool] = counts.get(part.tool, 0) + 1
        return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def passage(receipt: Receipt, messages: Sequence[Message]) -> Passage | None:
    """What the compaction of a receipt took from a transcript; `None` where the transcript does not have it (any
    more). Rules: `hudkit.transcripts.window`."""
    at = next((n for n, one in enumerate(messages) if one.id == receipt.message and is_summary(one)), None)
    if not receipt.message or at is None:
        return None
    asked = next((n for n in range(at - 1, -1, -1) if messages[n].id == messages[at].parent_id), None)
    marker = marker_of(messages[asked]) if asked is not None else None
    if asked is None or marker is None:
        return None
    before = _seen(messages, asked)
    tail = _tail(marker, before, receipt.tail)
    return Passage(before[:tail], before[tail:], tuple(messages[at + 1 :]))


def _seen(messages: Sequence[Message], asked: int) -> tuple[Message, ...]:
    """The window right before the marker at a place."""
    probe = Message("\0probe", messages[asked].session_id, "assistant")
    return window((*messages[:asked], probe), probe.id)


def _tail(marker: CompactionPart, before: Sequence[Message], told: str) -> int:
    """Where the kept part begins."""
    named = marker.tail_start_id or told
    return next((n for n, message in enumerate(before) if message.id == named), len(before)) if named else len(before)
