"""The calls of a session as its log tells them: the layers of each, and what was reported of its response.

A fold over events. The calls that a fork took over from its source are marked: they belong to the source.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    Call,
    CompactAfter,
    ContextSnapshot,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OutputsPrune,
    Sent,
    SessionLink,
    Spent,
)


class Anchored(msgspec.Struct, frozen=True):
    """A delta that a call carried. `since` is the place (in the ledger) of the call that carried it first, `at` where
    it stands in this one, in characters of the transcript."""

    delta: FrameDelta
    since: int
    at: int = 0


class Entry(msgspec.Struct):
    """One call. `base` is `None` where it was redacted; `spent` where nothing was reported of its response; `pruned`
    where no outputs left the window with it. `compactions` counts those before it."""

    place: int  # in the ledger, from 0
    seq: int
    at: int  # Unix ms
    model: str
    call: Call
    sent: Sent
    base: FrameBase | None
    deltas: tuple[Anchored, ...]
    spent: Spent | None = None
    inherited: bool = False
    pruned: OutputsPrune | None = None
    compactions: int = 0

    @property
    def base_tokens(self) -> int:
        return self.base.tokens if self.base else 0

    @property
    def delta_tokens(self) -> int:
        return sum(one.delta.tokens for one in self.deltas)

    @property
    def tail_tokens(self) -> int:
        return max(0, self.call.tokens - self.base_tokens - self.delta_tokens) if self.call.tail else 0


def ledger(events: Iterable[Event]) -> tuple[Entry, ...]:
    """The calls in order.

    A report belongs to the last call that was made before its response ended, by their times: reports come late, and
    those of a history from before the HUD belong to no call.
    """
    entries: list[Entry] = []
    bases: dict[int, FrameBase] = {}
    deltas: dict[str, Anchored] = {}
    model = ""
    pruned: OutputsPrune | None = None
    compactions = 0
    for event in events:
        match event.payload:
            case FrameBase() as written:
                bases[written.epoch] = written
                deltas = {}
            case FrameDelta() as delta:
                deltas[delta.id] = Anchored(delta, len(entries), -1)
            case FrameUnsent(epoch=epoch, kept=kept):
                dropped = {f"{epoch}.{n}" for n in range(kept + 1, kept + 1 + len(deltas))}
                for entry in entries:
                    entry.deltas = tuple(one for one in entry.deltas if one.delta.id not in dropped)
            case OutputsPrune() as pruned:
                pass
            case CompactAfter():
                compactions += 1
            case SessionLink(relation="fork"):
                for entry in entries:
                    entry.inherited = True
            case ContextSnapshot() as taken:
                model = taken.model or model
                if taken.call is not None:
                    sent, place = taken.sent or Sent(), len(entries)
                    deltas = {id: _moved(one, sent) for id, one in deltas.items()}
                    shown = tuple(deltas[id] for id in taken.call.shown if id in deltas)
                    base = bases.get(taken.call.epoch)
                    entries.append(Entry(place, event.seq, event.timestamp, model, taken.call, sent, base, shown))
                    entries[-1].pruned, entries[-1].compactions = pruned, compactions
                    pruned = None
                if taken.spent is not None:
                    _report(entries, event.timestamp, taken.spent)
    return tuple(entries)


def _moved(one: Anchored, sent: Sent) -> Anchored:
    """Where a delta stands once the first message that departs is another; a new one stands at the end."""
    kept, at = sent.size if sent.kept is None else sent.kept, one.at
    if sent.first and at > kept:
        at = max(kept, at + sent.first.now - sent.first.was)
    return msgspec.structs.replace(one, at=sent.size if at < 0 else min(at, sent.size))


def _report(entries: list[Entry], at: int, spent: Spent) -> None:
    asked = next((entry for entry in reversed(entries) if entry.at <= at), None)
    if asked is not None and asked.spent is None:
        asked.spent = spent
