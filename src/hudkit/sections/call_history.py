"""What a session's model calls left behind: no sections, but folded beside them.

Four states, each with its reducer: the window as the host reports it, the epoch that is in force, the outputs that
were pruned, and what the last compactions freed. `hud/` and `context/` decide by them; nothing here is shown as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    CompactAfter,
    CompactUndone,
    ContextSnapshot,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    OutputsPrune,
    PrunedOutput,
    Redact,
)

MAX_READINGS = 5
"""As many readings as the trend looks at (features, A4)."""

MAX_PAST_COMPACTIONS = 5
"""Compactions that are remembered: as many as a cooldown could ask about."""

_replace = msgspec.structs.replace


class UsageReading(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens in use, as reported at an event."""

    used_tokens: int
    limit_tokens: int | None
    seq: int


class WindowState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The window as the host reports it: the last readings, and what the last call was told.

    `used_tokens` is `None` while it is unknown: before the first report, and after a compaction until the next.
    `call` is the last composed call, at `call_seq` and time `call_at` (Unix ms); `calls` counts them.
    """

    used_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int = 0
    model: str = ""
    source: str = ""
    readings: tuple[UsageReading, ...] = ()
    call: FrameArguments | None = None
    call_seq: int = 0
    call_at: int = 0
    calls: int = 0


_WINDOW_EVENTS = (ContextSnapshot, CompactAfter, CompactUndone)


def _reduce_window(window: WindowState, event: Event) -> WindowState:
    """Return the window after an event of `_WINDOW_EVENTS`."""
    match event.payload:
        case ContextSnapshot() as snapshot:
            changed: dict[str, object] = {}
            if snapshot.used_tokens is not None:
                changed = {"used_tokens": snapshot.used_tokens, "source": snapshot.source}
                last = window.readings[-1].used_tokens if window.readings else None
                # A call repeats what the response before it reported: that is no new reading.
                if snapshot.used_tokens != last:
                    limit = snapshot.limit_tokens or window.limit_tokens
                    reading = UsageReading(snapshot.used_tokens, limit, event.seq)
                    changed["readings"] = (*window.readings, reading)[-MAX_READINGS:]
            for name in ("limit_tokens", "output_tokens", "model"):
                if getattr(snapshot, name):
                    changed[name] = getattr(snapshot, name)
            if snapshot.call is not None:
                changed["call"] = snapshot.call
                changed["call_seq"] = event.seq
                changed["call_at"] = event.timestamp
                changed["calls"] = window.calls + 1
            return _replace(window, **changed)
        case CompactAfter(used_tokens=used):
            return _replace(window, used_tokens=used, source="estimated" if used else "", readings=())
        case CompactUndone():
            return _replace(window, used_tokens=None, source="", readings=())
    return window


class EpochState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base layer that is in force, and the deltas that were recorded since.

    `base` is `None` before the first frame, and where it was redacted; `over` says that the next frame begins a new
    epoch, and why; `last` is the highest number that was ever given: none is given twice.
    """

    base: FrameBase | None = None
    base_seq: int = 0
    deltas: tuple[FrameDelta, ...] = ()
    over: str = ""
    last: int = 0

    @property
    def number(self) -> int:
        """Return the number of the epoch; 0 before the first."""
        return self.base.epoch if self.base else 0


_EPOCH_EVENTS = (FrameBase, FrameDelta, FrameUnsent, ContextSnapshot, CompactAfter, CompactUndone, Redact)


def _reduce_epoch(epoch: EpochState, event: Event) -> EpochState:
    """Return the epoch after an event of `_EPOCH_EVENTS`."""
    match event.payload:
        case FrameBase() as base:
            return EpochState(base, event.seq, last=max(epoch.last, base.epoch))
        case FrameDelta() as delta if epoch.base and delta.epoch == epoch.base.epoch:
            return _replace(epoch, deltas=(*epoch.deltas, delta))
        case FrameUnsent(epoch=number, sent_count=sent_count) if number == epoch.number:
            return _replace(epoch, deltas=epoch.deltas[:sent_count])
        case ContextSnapshot(call=call) if call is not None and call.epoch > epoch.last:
            # The base of that call was redacted: its number is taken all the same.
            return _replace(epoch, last=call.epoch)
        case CompactAfter():
            return _replace(epoch, over="compaction")
        case CompactUndone():
            return _replace(epoch, over="undone")
        case Redact():
            # What was redacted may stand in the base.
            return _replace(epoch, over="redaction")
    return epoch


class PrunedOutputs(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outputs that were pruned since the last compaction, and the lines that stand for them.

    `stubs` are in the order in which they were made; `count` counts all of the session: no number is given twice.
    """

    stubs: tuple[PrunedOutput, ...] = ()
    count: int = 0

    @property
    def calls(self) -> frozenset[str]:
        """Return the ids of the calls whose outputs are pruned."""
        return frozenset(stub.call for stub in self.stubs)


_PRUNED_OUTPUT_EVENTS = (OutputsPrune, CompactAfter)


def _reduce_pruned_outputs(pruned: PrunedOutputs, event: Event) -> PrunedOutputs:
    """Return the pruned outputs after an event of `_PRUNED_OUTPUT_EVENTS`."""
    match event.payload:
        case OutputsPrune(stubs=stubs):
            pruned_calls = pruned.calls
            new = tuple(stub for stub in stubs if stub.call not in pruned_calls)
            return PrunedOutputs((*pruned.stubs, *new), pruned.count + len(stubs))
        case CompactAfter():
            # The outputs left the window with the compaction; their numbers go on.
            return PrunedOutputs(count=pruned.count)
    return pruned


class PastCompaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """A compaction: its event, and the tokens in use as reported before it and first after it (`None`: not known, or
    not yet); `call` counts the model calls of the session up to it."""

    seq: int
    before: int | None = None
    after: int | None = None
    limit: int | None = None
    call: int = 0


class CompactionHistory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the last compactions freed, as the host reported it, and whether the agent was told.

    `last` are the newest in order; `calls` and `used` are as of now; `announced` is the event of the newest
    compaction of which a turn has begun since its figures are known.
    """

    last: tuple[PastCompaction, ...] = ()
    calls: int = 0
    used: int | None = None
    limit: int | None = None
    announced: int = msgspec.field(default=0, name="told")


_COMPACTION_HISTORY_EVENTS = (ContextSnapshot, CompactAfter, CompactUndone)


def _reduce_compaction_history(history: CompactionHistory, event: Event) -> CompactionHistory:
    """Return the history after an event of `_COMPACTION_HISTORY_EVENTS`."""
    match event.payload:
        case CompactAfter():
            new = PastCompaction(event.seq, history.used, None, history.limit, history.calls)
            return _replace(history, last=(*history.last, new)[-MAX_PAST_COMPACTIONS:], used=None)
        case CompactUndone(seq=seq):
            earlier = tuple(compaction for compaction in history.last if compaction.seq < seq)
            return _replace(history, last=earlier, used=None)
        case ContextSnapshot() as snapshot:
            return _after_call(history, snapshot)
    return history


def _after_call(history: CompactionHistory, snapshot: ContextSnapshot) -> CompactionHistory:
    last = history.last[-1] if history.last else None
    changes: dict[str, object] = {}
    if snapshot.call is not None:
        changes["calls"] = history.calls + 1
        if last is not None and last.after is not None and snapshot.call.turn_start:
            changes["announced"] = last.seq
    if last is not None and snapshot.late is not None:
        # Reported after the compaction, of the request before it.
        changes["last"] = (*history.last[:-1], _replace(last, before=snapshot.late))
    if snapshot.limit_tokens:
        changes["limit"] = snapshot.limit_tokens
    if snapshot.used_tokens is not None:
        changes["used"] = snapshot.used_tokens
        if last is not None and last.after is None:
            limit = last.limit or snapshot.limit_tokens
            changes["last"] = (*history.last[:-1], _replace(last, after=snapshot.used_tokens, limit=limit))
    return _replace(history, **changes) if changes else history


CALL_FOLDS: dict[str, tuple[tuple[type[Any], ...], Callable[[Any, Event], Any]]] = {
    "window": (_WINDOW_EVENTS, _reduce_window),
    "epoch": (_EPOCH_EVENTS, _reduce_epoch),
    "pruned_outputs": (_PRUNED_OUTPUT_EVENTS, _reduce_pruned_outputs),
    "compaction_history": (_COMPACTION_HISTORY_EVENTS, _reduce_compaction_history),
}
"""By field of `HudState`, the payloads that it is folded from, and its reducer."""
