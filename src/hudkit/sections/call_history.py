"""What a session's model calls left behind, and what its log lost: no sections, but folded beside them.

Seven states, each with its reducer: the window as the host reports it, the epoch that is in force, the outputs that
were pruned, which calls read and changed which files, what the last compactions freed, the events that are damaged or
lost, and the messages that the host took back. By them `hud/` and `context/` decide; nothing here is shown as such,
but for the one line of `LogGaps`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from hudkit.log.event import Event
from hudkit.log.payloads import (
    CommitMade,
    CompactAfter,
    CompactBefore,
    CompactUndone,
    ContextSnapshot,
    EventGap,
    FileEdit,
    FileOpen,
    FrameArguments,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    MessagesRevert,
    OutputsPrune,
    PrunedOutput,
    Redact,
    StepComplete,
)

MAX_READINGS = 5
"""As many readings as the trend looks at (features, A4)."""

MAX_PAST_COMPACTIONS = 5
"""Compactions that are remembered: as many as a cooldown could ask about."""

AUTOMATIC = ("auto", "overflow")
"""What starts a compaction by itself."""

CEILINGS, CEILING_SPREAD = 2, 0.8
"""Automatic compactions that show how large a window is, and how much smaller the lesser fill may be."""

_MAX_TOLD_STALE = 100
"""Stale items that are remembered as told."""

_MAX_STANDING_REVERTS = 20
"""Reverts whose messages are looked for in a transcript: a host brings the last ones back, if any."""

NEW_WINDOW = "window"
"""The reason of a base that was written because the host said that its window begins anew."""

_replace = msgspec.structs.replace


class UsageReading(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens in use, as reported at an event."""

    used_tokens: int
    limit_tokens: int | None
    seq: int


class WindowState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The window as the host reports it: the last readings, and what the last call was told.

    `used_tokens` is `None` while it is unknown: before the first report, and after a compaction until the next.
    `call` is the last composed call, at `call_seq` and time `call_at` (Unix ms); `calls` counts them. `ceilings` are
    the tokens in use at the last automatic compactions; `told_stale` are the events of the items that tails have
    called stale, the newest.
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
    ceilings: tuple[int, ...] = ()
    told_stale: tuple[int, ...] = ()

    @property
    def observed_limit(self) -> int | None:
        """Return the fill in tokens at which the last two automatic compactions came; `None` where they disagree."""
        least, most = min(self.ceilings, default=0), max(self.ceilings, default=0)
        return most if len(self.ceilings) == CEILINGS and least >= CEILING_SPREAD * most else None


_WINDOW_EVENTS = (ContextSnapshot, CompactAfter, CompactUndone, MessagesRevert)


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
                if snapshot.call.stale:
                    changed["told_stale"] = (*window.told_stale, *snapshot.call.stale)[-_MAX_TOLD_STALE:]
            return _replace(window, **changed)
        case CompactAfter(used_tokens=used, trigger=trigger):
            full = (window.used_tokens,) if trigger in AUTOMATIC and window.used_tokens else ()
            ceilings = (*window.ceilings, *full)[-CEILINGS:]
            return _replace(
                window, used_tokens=used, source="estimated" if used else "", readings=(), ceilings=ceilings
            )
        case CompactUndone():
            return _replace(window, used_tokens=None, source="", readings=())
        case MessagesRevert(used_tokens=used):
            return _replace(window, used_tokens=used, source="reported" if used else "", readings=())
    return window


class EpochState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The base layer that is in force, and the deltas that were recorded since.

    `base` is `None` before the first frame, and where it was redacted; `over` says that the next frame begins a new
    epoch, and why; `last` is the highest number that was ever given: none is given twice. `reverted_from` is the
    first event that messages had recorded which the host took back in this epoch (0: none), `reverted_at` the event
    that says so: what was sent in between and stands in the transcript all the same must not be sent again.
    `compacting_at` is the event that announced a compaction which has not ended (0: none): a base that is written
    for the window behind it before its end is known belongs to that window.
    """

    base: FrameBase | None = None
    base_seq: int = 0
    deltas: tuple[FrameDelta, ...] = ()
    over: str = ""
    last: int = 0
    reverted_from: int = 0
    reverted_at: int = 0
    compacting_at: int = 0

    @property
    def number(self) -> int:
        """Return the number of the epoch; 0 before the first."""
        return self.base.epoch if self.base else 0


_EPOCH_EVENTS = (
    FrameBase,
    FrameDelta,
    FrameUnsent,
    ContextSnapshot,
    CompactBefore,
    CompactAfter,
    CompactUndone,
    MessagesRevert,
    Redact,
    EventGap,
)


def _reduce_epoch(epoch: EpochState, event: Event) -> EpochState:
    """Return the epoch after an event of `_EPOCH_EVENTS`."""
    match event.payload:
        case FrameBase() as base:
            last = max(epoch.last, base.epoch)
            return EpochState(base, event.seq, last=last, compacting_at=epoch.compacting_at)
        case FrameDelta() as delta if epoch.base and delta.epoch == epoch.base.epoch:
            return _replace(epoch, deltas=(*epoch.deltas, delta))
        case FrameUnsent(epoch=number, sent_count=sent_count) if number == epoch.number:
            return _replace(epoch, deltas=epoch.deltas[:sent_count])
        case ContextSnapshot(call=call) if call is not None and call.epoch > epoch.last:
            # The base of that call was redacted: its number is taken all the same.
            return _replace(epoch, last=call.epoch)
        case CompactBefore():
            return _replace(epoch, compacting_at=event.seq)
        case CompactAfter():
            base_of_window = epoch.base if 0 < epoch.compacting_at < epoch.base_seq else None
            is_ahead = base_of_window is not None and base_of_window.reason == NEW_WINDOW
            return _replace(epoch, over=epoch.over if is_ahead else "compaction", compacting_at=0)
        case CompactUndone():
            return _replace(epoch, over="undone")
        case MessagesRevert(seqs=seqs) if seqs:
            first = min(seqs)
            return _replace(epoch, reverted_from=min(first, epoch.reverted_from or first), reverted_at=event.seq)
        case Redact():
            # What was redacted may stand in the base.
            return _replace(epoch, over="redaction")
        case EventGap(code=code) if code != "lost":
            # What is gone may be a delta of this epoch: nobody knows any more what its reader was told.
            return _replace(epoch, over="damage")
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


class FileUse(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """A file that a `call` read (a `part` of it, by a digest); one without a call was changed."""

    path: str
    call: str = ""
    part: str = ""


class FileUses(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reads of files since the last compaction, in order, and among them the changes of what was read before."""

    uses: tuple[FileUse, ...] = ()


_FILE_USE_EVENTS = (FileOpen, FileEdit, CompactAfter)


def _reduce_file_uses(files: FileUses, event: Event) -> FileUses:
    """Return the uses of files after an event of `_FILE_USE_EVENTS`."""
    match event.payload:
        case FileOpen(path=path, by_call=call, part=part) if call:
            return FileUses((*files.uses, FileUse(path, call, part)))
        case FileEdit(path=path):
            last = next((use for use in reversed(files.uses) if use.path == path), None)
            if last is not None and last.call:
                return FileUses((*files.uses, FileUse(path)))
        case CompactAfter():
            return FileUses()
    return files


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
    compaction of which a turn has begun since its figures are known; `without_progress` counts the compactions since
    a file was edited, a step finished or something committed.
    """

    last: tuple[PastCompaction, ...] = ()
    calls: int = 0
    used: int | None = None
    limit: int | None = None
    announced: int = msgspec.field(default=0, name="told")
    without_progress: int = 0


_PROGRESS_EVENTS = (FileEdit, StepComplete, CommitMade)

_COMPACTION_HISTORY_EVENTS = (ContextSnapshot, CompactAfter, CompactUndone, *_PROGRESS_EVENTS)


def _reduce_compaction_history(history: CompactionHistory, event: Event) -> CompactionHistory:
    """Return the history after an event of `_COMPACTION_HISTORY_EVENTS`."""
    match event.payload:
        case CompactAfter():
            new = PastCompaction(event.seq, history.used, None, history.limit, history.calls)
            newest = (*history.last, new)[-MAX_PAST_COMPACTIONS:]
            return _replace(history, last=newest, used=None, without_progress=history.without_progress + 1)
        case CompactUndone(seq=seq):
            earlier = tuple(compaction for compaction in history.last if compaction.seq < seq)
            undone = len(history.last) - len(earlier)
            return _replace(
                history, last=earlier, used=None, without_progress=max(0, history.without_progress - undone)
            )
        case FileEdit() | StepComplete() | CommitMade() if history.without_progress:
            return _replace(history, without_progress=0)
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


MAX_GAPS = 100
"""Damaged events whose numbers are remembered, the first ones; the others are counted."""


class LogGaps(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is missing in the session's log: the numbers of events that are damaged and not yet repaired, how many
    they are, and the last loss of acknowledged events with the event that tells of it; `repaired` are the numbers of
    those in whose place `hudkit repair` left a gap."""

    damaged: tuple[int, ...] = ()
    count: int = 0
    loss: str = ""
    loss_seq: int = 0
    repaired: tuple[int, ...] = ()

    def words(self, told_until: int) -> str:
        """Return the line that says so, and what to do; empty where there is nothing to say.

        A loss is told where its event is newer than `told_until`, damage as long as it is there.
        """
        is_new = self.loss and self.loss_seq > told_until
        lines = [f"recorded events were lost ({self.loss}); look what is missing"] if is_new else []
        if self.damaged:
            numbers = ", ".join(map(str, self.damaged[:3]))
            more = f" and {self.count - 3} more" if self.count > 3 else ""
            plural = "event {} is" if self.count == 1 else "events {} are"
            lines.append(f"{plural.format(numbers + more)} damaged and left out; to mend the log: hudkit repair")
        return "; ".join(lines)


def _reduce_gaps(gaps: LogGaps, event: Event) -> LogGaps:
    """Return the gaps after an `EventGap`; one that `hudkit repair` left behind is settled, and counts no more."""
    match event.payload:
        case EventGap(damaged=True):
            return _replace(gaps, damaged=(*gaps.damaged, event.seq)[:MAX_GAPS], count=gaps.count + 1)
        case EventGap(of=seq) if seq:
            if seq in gaps.damaged or seq in gaps.repaired:
                return gaps
            return _replace(gaps, damaged=(*gaps.damaged, seq)[:MAX_GAPS], count=gaps.count + 1)
        case EventGap(code="lost", message=message):
            return _replace(gaps, loss=message, loss_seq=event.seq)
        case EventGap():
            return _replace(gaps, repaired=(*gaps.repaired, event.seq)[-MAX_GAPS:])
    return gaps


class StandingRevert(msgspec.Struct, frozen=True, omit_defaults=True):
    """Messages that the host took back, as of event `seq`, by their names, oldest first."""

    seq: int
    messages: tuple[str, ...] = ()


class StandingReverts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the host took back and has not brought back, the newest last."""

    last: tuple[StandingRevert, ...] = ()


def _reduce_reverts(reverts: StandingReverts, event: Event) -> StandingReverts:
    match event.payload:
        case MessagesRevert(messages=messages):
            new = StandingRevert(event.seq, messages)
            return StandingReverts((*reverts.last, new)[-_MAX_STANDING_REVERTS:])
    return reverts


CALL_FOLDS: dict[str, tuple[tuple[type[Any], ...], Callable[[Any, Event], Any]]] = {
    "window": (_WINDOW_EVENTS, _reduce_window),
    "epoch": (_EPOCH_EVENTS, _reduce_epoch),
    "pruned_outputs": (_PRUNED_OUTPUT_EVENTS, _reduce_pruned_outputs),
    "file_uses": (_FILE_USE_EVENTS, _reduce_file_uses),
    "compaction_history": (_COMPACTION_HISTORY_EVENTS, _reduce_compaction_history),
    "gaps": ((EventGap,), _reduce_gaps),
    "reverts": ((MessagesRevert,), _reduce_reverts),
}
"""By field of `HudState`, the payloads that it is folded from, and its reducer."""
