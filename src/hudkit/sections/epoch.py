"""The epoch: the base layer that is in force, and the deltas that were recorded since."""

from __future__ import annotations

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    CompactAfter,
    CompactUndone,
    ContextSnapshot,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    Redact,
)


class Epoch(msgspec.Struct, frozen=True, omit_defaults=True):
    """`base` is `None` before the first frame, and where it was redacted; `over` says that the next frame begins a
    new epoch, and why; `last` is the highest number that was ever given: none is given twice."""

    base: FrameBase | None = None
    base_seq: int = 0
    deltas: tuple[FrameDelta, ...] = ()
    over: str = ""
    last: int = 0

    @property
    def number(self) -> int:
        return self.base.epoch if self.base else 0


HANDLES = (FrameBase, FrameDelta, FrameUnsent, ContextSnapshot, CompactAfter, CompactUndone, Redact)


def reduce(epoch: Epoch, event: Event) -> Epoch:
    match event.payload:
        case FrameBase() as base:
            return Epoch(base, event.seq, last=max(epoch.last, base.epoch))
        case FrameDelta() as delta if epoch.base and delta.epoch == epoch.base.epoch:
            return msgspec.structs.replace(epoch, deltas=(*epoch.deltas, delta))
        case FrameUnsent(epoch=number, kept=kept) if number == epoch.number:
            return msgspec.structs.replace(epoch, deltas=epoch.deltas[:kept])
        case ContextSnapshot(call=call) if call is not None and call.epoch > epoch.last:  # its base was redacted
            return msgspec.structs.replace(epoch, last=call.epoch)
        case CompactAfter():
            return msgspec.structs.replace(epoch, over="compaction")
        case CompactUndone():
            return msgspec.structs.replace(epoch, over="undone")
        case Redact():  # what was redacted may stand in the base
            return msgspec.structs.replace(epoch, over="redaction")
    return epoch
