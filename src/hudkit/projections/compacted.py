"""Compactions: how many there were, and the summary of the last one."""

from __future__ import annotations

import msgspec

from hudkit.events.event import Event
from hudkit.events.payloads import CompactAfter, SectionClear, SectionReplace
from hudkit.projections.items import Mark, mark


class Compacted(msgspec.Struct, frozen=True, omit_defaults=True):
    """`summary` complements the sections; `count` counts the compactions of the session."""

    summary: str = ""
    count: int = 0
    mark: Mark = Mark()


HANDLES = (CompactAfter, SectionReplace, SectionClear)


def reduce(compacted: Compacted, event: Event) -> Compacted:
    match event.payload:
        case CompactAfter(summary=summary):
            return Compacted(summary, compacted.count + 1, mark(event))
        case SectionReplace(section="compacted", values=values):
            return msgspec.structs.replace(compacted, summary="\n".join(values), mark=mark(event))
        case SectionClear(section="compacted" | ""):
            return msgspec.structs.replace(compacted, summary="") if compacted.summary else compacted
    return compacted
