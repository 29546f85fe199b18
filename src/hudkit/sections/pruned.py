"""The outputs that were pruned since the last compaction, and the lines that stand for them."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import CompactAfter, OutputsPrune, Stubbed


class Pruned(msgspec.Struct, frozen=True, omit_defaults=True):
    """`stubs` in the order in which they were made; `count` counts all of the session: no number is given twice."""

    stubs: tuple[Stubbed, ...] = ()
    count: int = 0

    @property
    def calls(self) -> frozenset[str]:
        """The calls whose outputs are pruned."""
        return frozenset(one.call for one in self.stubs)


HANDLES = (OutputsPrune, CompactAfter)


def reduce(pruned: Pruned, event: Event) -> Pruned:
    match event.payload:
        case OutputsPrune(stubs=stubs):
            known = pruned.calls
            new = tuple(one for one in stubs if one.call not in known)
            return Pruned((*pruned.stubs, *new), pruned.count + len(stubs))
        case CompactAfter():
            return Pruned(count=pruned.count)
    return pruned
