"""One session as it was recorded, held in memory between requests: its events, its states, its calls.

The events are read once, and after that only those that are new. A long log is read in portions, so that no request
waits for all of it: `refresh` says whether everything was read. States are remembered at every `CHECKPOINT_EVERY`th
event; the state at any other is folded from the one before it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import msgspec

from hudkit.api import Hud, HudSession
from hudkit.clock import unix_ms, uuid7
from hudkit.context.caching import CacheAccount, CallHits, PrefixBreak, account_for_calls
from hudkit.context.compaction.receipts import Receipt, read_receipts
from hudkit.errors import ConfigError
from hudkit.hud import ClockAndIds
from hudkit.hud.frame_request import window_in_force
from hudkit.log import Event
from hudkit.log.payloads import CompactAfter, ContextSnapshot, EventRestate, Redact, SessionStart
from hudkit.sections.call_history import CALL_FOLDS, WindowState
from hudkit.sections.state import HudState, fold, undo_reaches
from hudkit.tokens import Window, known_prices

CHECKPOINT_EVERY = 500
"""Events between two states that are remembered."""

PART_EVENTS = 10_000
"""Events that are accounted for together, some 2,500 calls: a page is never about more."""

_SLICE_EVENTS = 500
_MAX_STATES = 24
"""States between checkpoints that are remembered: those of the calls that are looked at."""


class RecordedCall(msgspec.Struct, frozen=True):
    """A call of the session: `number` counts from 1, `seq` is its event, `time` Unix ms; `window` as it was reported
    up to then."""

    number: int
    seq: int
    time: int
    snapshot: ContextSnapshot
    window: WindowState


class SessionRecord(HudSession):
    """A session that is only read. Not safe for several threads."""

    def __init__(self, hud: Hud, key: str) -> None:
        super().__init__(hud.log, key, ClockAndIds(unix_ms, uuid7), hud.counter, hud.settings)
        self.calls: list[RecordedCall] = []
        self.compactions: list[Event] = []
        self.is_stale = False
        """Whether what was read before has changed since, because something was redacted: read the session anew."""
        self._read: list[Event] = []
        self._window = WindowState()
        self._model = ""
        self._checkpoints: dict[int, HudState] = {0: HudState(session_id=key)}
        self._looked_at: dict[int, HudState] = {}
        self._accounts: dict[int, tuple[int, CacheAccount]] = {}
        self._receipts: tuple[int, tuple[Receipt, ...]] = (0, ())

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def read_upto(self) -> int:
        """Return the number of the last event that was read."""
        return len(self._read)

    @property
    def last(self) -> int:
        """Return the number of the session's last event."""
        return self.log.last_seq(self.id)

    def refresh(self, seconds: float) -> bool:
        """Read what is new, for about so many seconds at most; return whether all of it was read."""
        until, last = time.monotonic() + seconds, self.last
        is_later = bool(self._read)
        while len(self._read) < last:
            upto = min(last, len(self._read) + _SLICE_EVENTS)
            new = tuple(super().events(len(self._read), upto))
            if is_later and any(isinstance(event.payload, Redact | EventRestate) for event in new):
                self.is_stale = True
            self._take_read(new)
            if time.monotonic() > until or not new:
                break
        return len(self._read) >= last

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """Return the events with `after < seq <= upto`, from memory as far as they were read."""
        end = self.last if upto is None else upto
        if end <= len(self._read):
            return iter(self._read[max(0, after) : end])
        return super().events(after, upto)

    def state_at(self, seq: int) -> HudState:
        """Return the state as of event `seq`. Raises `ConfigError` beyond the last event."""
        if not 0 <= seq <= self.last:
            raise ConfigError(f"session {self.id!r} has no event {seq}", hint=f"It has events 0 to {self.last}")
        if seq in self._checkpoints:
            return self._checkpoints[seq]
        if seq not in self._looked_at:
            self._looked_at[seq] = self._folded_upto(seq)
            if len(self._looked_at) > _MAX_STATES:
                del self._looked_at[next(iter(self._looked_at))]
        return self._looked_at[seq]

    def _take_read(self, events: Sequence[Event]) -> None:
        self._read += events
        told_by, reduce_window = CALL_FOLDS["window"]
        for event in events:
            payload = event.payload
            if isinstance(payload, told_by):
                self._window = reduce_window(self._window, event)
            elif isinstance(payload, SessionStart):
                self._model = payload.model or self._model
            if isinstance(payload, ContextSnapshot) and payload.call is not None:
                self.calls.append(
                    RecordedCall(len(self.calls) + 1, event.seq, event.timestamp, payload, self._window)
                )
            elif isinstance(payload, CompactAfter):
                self.compactions.append(event)

    def prepare_state(self, seq: int, seconds: float) -> int:
        """Fold towards event `seq` for about so many seconds at most; return the event that was reached.

        From there on, `state_at` takes no longer than a page may.
        """
        until, reached = time.monotonic() + seconds, self._start_of(seq).seq
        while seq - reached > CHECKPOINT_EVERY and time.monotonic() < until:
            reached += CHECKPOINT_EVERY - reached % CHECKPOINT_EVERY
            self._folded_upto(reached)
        return seq if seq - reached <= CHECKPOINT_EVERY else reached

    def _start_of(self, seq: int) -> HudState:
        """The nearest state that is known before an event, or at it."""
        start = self._checkpoints[max(checkpoint for checkpoint in self._checkpoints if checkpoint <= seq)]
        if seq - start.seq > CHECKPOINT_EVERY and (saved := self._restore(seq)).seq > start.seq:
            start = self._checkpoints[saved.seq] = saved  # the log's own, which has a few of the newest
        return start

    def _folded_upto(self, seq: int) -> HudState:
        state = self._start_of(seq)
        while state.seq < seq:
            upto = min(seq, state.seq - state.seq % CHECKPOINT_EVERY + CHECKPOINT_EVERY)
            events = tuple(self.events(state.seq, upto))
            # An undo that reaches back behind them makes the state before them void.
            reaches_back = undo_reaches(events, state.seq)
            state = fold(self.events(0, upto)) if reaches_back else fold(events, state)
            if upto % CHECKPOINT_EVERY == 0:
                self._checkpoints[upto] = state
        return state

    # -- calls -----------------------------------------------------------------------------------------------------

    @property
    def newest_seq(self) -> int:
        """Return the event of the newest call that was read, or of the last event where there is none."""
        return self.calls[-1].seq if self.calls else self.read_upto

    def call_at(self, seq: int) -> RecordedCall | None:
        """Return the call that was recorded by event `seq`, or the last one before it; `None` before the first."""
        return next((call for call in reversed(self.calls) if call.seq <= seq), None)

    def window_of(self, call: RecordedCall) -> Window:
        """Return the window that a call went by, whose size the host told, or the settings, or nobody."""
        return window_in_force(call.window, call.window.model or self._model, self.settings)

    def account_at(self, seq: int) -> CacheAccount:
        """Return the account of the calls around event `seq`: of all, but in a very long session."""
        part = max(0, seq - 1) // PART_EVENTS
        end = min(len(self._read), (part + 1) * PART_EVENTS)
        if part not in self._accounts or self._accounts[part][0] != end:
            events = self._read[part * PART_EVENTS : end]
            self._accounts[part] = (end, account_for_calls(events, known_prices))
        return self._accounts[part][1]

    def hits_of(self, call: RecordedCall) -> CallHits | None:
        """Return what the provider's cache gave for a call; `None` where the call is another session's."""
        return next((hits for hits in self.account_at(call.seq).calls if hits.seq == call.seq), None)

    def breaks_of(self, call: RecordedCall) -> tuple[PrefixBreak, ...]:
        """Return what broke the prefix between a call and the one before it."""
        return tuple(each for each in self.account_at(call.seq).breaks if each.seq == call.seq)

    def receipts(self) -> tuple[Receipt, ...]:
        """Return the receipts of the compactions that were read."""
        if not self.compactions:
            return ()
        if self._receipts[0] != len(self._read):
            self._receipts = (len(self._read), read_receipts(self._read, self.state_at))
        return self._receipts[1]


class SessionRecords:
    """The sessions that were looked at last. Not safe for several threads."""

    _MAX_OPEN = 8
    """Sessions that are held in memory: one person looks at few at a time."""

    def __init__(self, hud: Hud) -> None:
        self._hud = hud
        self._open: dict[str, SessionRecord] = {}

    def get(self, key: str) -> SessionRecord:
        """Return the record of a session. Raises `ConfigError` where the log has no such session."""
        record = self._open.pop(key, None)
        if record is None or record.is_stale:
            if not self._hud.log.last_seq(key):
                raise ConfigError(
                    f"the log has no session {key!r}", hint="The list of sessions has those that it has"
                )
            record = SessionRecord(self._hud, key)
        self._open[key] = record
        while len(self._open) > self._MAX_OPEN:
            del self._open[next(iter(self._open))]
        return record
