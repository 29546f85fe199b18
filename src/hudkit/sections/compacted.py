"""Compactions: how many there were, and the summary of the last one."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, CompactUndone, SectionClear, SectionReplace
from hudkit.sections.items import Mark, mark

STANDING_KEPT = 20
"""Compactions of which it is remembered where they stand in the transcript, the newest."""


class Standing(msgspec.Struct, frozen=True):
    """A compaction whose summary the transcript should have: its event, and how the message's anchor begins."""

    seq: int
    anchor: str


class Compacted(msgspec.Struct, frozen=True, omit_defaults=True):
    """`summary` complements the sections; `count` counts the compactions of the session that were not undone;
    `standing` are the newest of those whose host told an anchor, in order."""

    summary: str = ""
    count: int = 0
    mark: Mark = Mark()
    standing: tuple[Standing, ...] = ()


HANDLES = (CompactAfter, CompactUndone, SectionReplace, SectionClear)


def reduce(compacted: Compacted, event: Event) -> Compacted:
    match event.payload:
        case CompactAfter(summary=summary, anchor=anchor):
            new = (Standing(event.seq, anchor),) if anchor else ()
            return Compacted(summary, compacted.count + 1, mark(event), (*compacted.standing, *new)[-STANDING_KEPT:])
        case CompactUndone(seq=seq, summary=summary):
            rest = tuple(one for one in compacted.standing if one.seq < seq)
            return Compacted(summary, max(0, compacted.count - 1), mark(event), rest)
        case SectionReplace(section="compacted", values=values):
            return msgspec.structs.replace(compacted, summary="\n".join(values), mark=mark(event))
        case SectionClear(section="compacted" | ""):
            return msgspec.structs.replace(compacted, summary="") if compacted.summary else compacted
    return compacted
