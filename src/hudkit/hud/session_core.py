"""One session of a log: append facts, read the state at any event, compose frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from hudkit.compose import Density
from hudkit.config import Settings
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.errors import BudgetError, ConfigError, HudkitError, SequenceConflict, StoreError
from hudkit.hud.frame import Frame, rebuild_frame
from hudkit.hud.frame_builder import build_frame
from hudkit.hud.frame_request import BuiltFrame, ComposeContext, FrameRequest, TranscriptMessage, transcript_position
from hudkit.hud.measured_renderer import MeasuredRenderer
from hudkit.log.codec import preview_events
from hudkit.log.event import Event, EventDraft, Origin
from hudkit.log.event_log import ID_LIMIT, EventLog, Snapshot, is_id
from hudkit.log.payloads import (
    FrameBase,
    FrameDelta,
    Payload,
    Redact,
    RequestParts,
    SectionPrepared,
    SentTranscript,
    TaskSet,
)
from hudkit.log.redaction import RestatedEvents
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.section import SectionSpec
from hudkit.sections.state import (
    STATE_VERSION,
    HudState,
    apply,
    decode_state,
    encode_state,
    fold,
    undo_reaches,
    with_assigned_id,
)
from hudkit.sections.table import SECTIONS
from hudkit.tokens.counting import TokenCounter

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions


# -- What was so and is no longer: texts of items that were replaced, removed, done or resolved.


KINDS = ("constraints", "decisions", "steps", "blockers", "errors", "notes", "todos")
"""Sections whose items end; files are left rather than ended."""

_SECTIONS = tuple(section for section in SECTIONS if section.name in KINDS)


def ended_texts(events: Iterable[Event], before: HudState, now: HudState) -> tuple[str, ...]:
    """Texts of items that ended in the events from `before` to `now`, in the order of their ends; what came back is
    not among them. An item whose text was changed ends with its old text."""
    state = before
    live = {section.name: _live(section, state) for section in _SECTIONS}
    over: dict[str, None] = {}
    for event in events:
        after = apply(state, event)
        for section in _SECTIONS:
            if any(getattr(after, name) is not getattr(state, name) for name in section.reads):
                shown = _live(section, after)
                over |= dict.fromkeys(text for text in live[section.name] if text not in shown)
                live[section.name] = shown
        state = after
    over |= dict.fromkeys(text for shown in live.values() for text in shown)  # what was undone has no end of its own
    standing = {text for section in _SECTIONS for text in _live(section, now)}
    return tuple(text for text in over if text not in standing)


def _live(section: SectionSpec, state: HudState) -> dict[str, None]:
    return dict.fromkeys(row.text for row in section.rows(state) if not row.closed)


SNAPSHOT_EVERY = 500
"""A snapshot is saved when this many events were folded since the last one."""

PLACEMENTS = ("anchored", "system")
"""Where a frame goes: in layers that keep the prefix cache, or whole into the system prompt."""

MOST_SAID = 100
"""Events that are remembered because an answer of a tool tells of them."""

APPEND_ATTEMPTS = 8
"""How often an append that depends on the state is tried again when another writer was first."""


REDACTED = "what was sent was redacted; this is what the state would show without it"


class ClockAndIds(msgspec.Struct, frozen=True):
    """What comes in from outside: the time (Unix ms) and ids (UUIDv7 as text)."""

    clock: Callable[[], int]
    ids: Callable[[], str]


class SessionCore:
    """A session's view of the log. Not safe for several threads; several sessions, processes and hosts may write to
    one log, and each sees what the others wrote."""

    def __init__(
        self,
        log: EventLog,
        session_id: str,
        outside: ClockAndIds,
        counter: TokenCounter,
        settings: Settings | None = None,
        prepare: Callable[[HudState], Sequence[Payload]] | None = None,
    ) -> None:
        """`prepare` gives what a frame of a state needs made first, to be recorded with it; it never raises."""
        if not is_id(session_id):
            hint = f"Give 1 to {ID_LIMIT} bytes of UTF-8 without NUL"
            raise ConfigError(f"session id {session_id!a:.80} cannot be used", hint=hint)
        self.id = session_id
        self.log = log
        self.settings = settings or Settings()
        self._desk = ComposeContext(
            MeasuredRenderer(counter), DocumentBuilder(), self.settings, self._told, {}, self._event_at
        )
        self._known: HudState | None = None
        self._outside = outside
        self._restated = RestatedEvents(log, session_id)
        self._prepare = prepare
        self.past: PastSessions | None = None  # what was said in all sessions, where a host gives it
        self.project_log: SessionCore | None = None  # where the project's defaults are kept, where there is a project
        self._said: tuple[Event, ...] = ()  # since the last call, in answers of tools
        self._events: dict[int, Event] = {}  # those of which answers tell
        self._state = HudState(session_id=session_id)
        self._saved = 0

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def state(self) -> HudState:
        """The state as of now, other writers' events included."""
        if self._state.seq == 0:
            self._state = self._restore(None)
        last = self.log.last_seq(self.id)
        if last > self._state.seq:
            self._take(tuple(self.events(self._state.seq, last)))
        return self._state

    def state_at(self, seq: int) -> HudState:
        """The state as of event `seq` (0: before the first). Raises `ConfigError` beyond the last event."""
        now = self._state
        if seq == now.seq:
            return now
        last = self.log.last_seq(self.id)
        if not 0 <= seq <= last:
            raise ConfigError(f"session {self.id!r} has no event {seq}", hint=f"It has events 0 to {last}")
        start = self._restore(seq)
        events = tuple(self.events(start.seq, seq))
        return fold(self.events(0, seq)) if undo_reaches(events, start.seq) else fold(events, start)

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """The session's events with `after < seq <= upto`, in order; redacted ones with what is left of them."""
        return self._restated(self.log.read(self.id, after=after, upto=upto))

    def other(self, key: str) -> HudState:
        """The state of another session of the log, as of now. Raises a `StoreError`."""
        return SessionCore(self.log, key, self._outside, self._desk.typeset.counter, self.settings).state

    # -- writing -----------------------------------------------------------------------------------------------

    def append(
        self, *payloads: Payload, origin: Origin = Origin.AGENT, turn: int | None = None, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append facts, all or none, durably; they come back as stored.

        Raises a `StoreError`; with `expected`, `SequenceConflict` where another writer was first.
        """
        if not payloads:
            return ()
        state = self.state
        turn = state.window.calls if turn is None else turn
        events = self.log.append(self.id, self.drafts(payloads, origin, turn), expected=expected)
        if events[0].seq == state.seq + 1:
            self._take(events)
        return events

    def decide(
        self, decision: Callable[[HudState], Sequence[Payload]], *, origin: Origin = Origin.AGENT
    ) -> tuple[tuple[Event, ...], HudState]:
        """Append what `decision` makes of the state, and no other writer's event comes between; gives the events
        and the state that was decided on. `decision` is asked again when another writer was first."""
        conflict: SequenceConflict | None = None
        for _ in range(APPEND_ATTEMPTS):
            before = self.state
            payloads = decision(before)
            if not payloads:
                return (), before
            try:
                return self.append(*payloads, origin=origin, expected=before.seq), before
            except SequenceConflict as error:
                conflict = error
        assert conflict is not None
        raise conflict

    def prepared(self) -> HudState:
        """Make and record now what the next frame needs made first; gives the state after it."""
        if self._prepare is not None:
            prepare = self._prepare
            self.decide(prepare, origin=Origin.SYSTEM)
        return self.state

    def said(self, before: HudState) -> None:
        """The agent has an answer that tells of what happened in the session since `before`: as long as the answer is
        in the transcript, no frame tells it again. No answer tells what a section shows, and of what is taken up from
        another session, but for its task, answers only tell how much it is."""
        try:
            events = tuple(self.events(before.seq, self.state.seq))
        except StoreError:
            return  # then it is told twice
        for event in events:
            after = apply(before, event)
            counted = getattr(event.payload, "taken", "") and not isinstance(event.payload, TaskSet)
            if not counted and not isinstance(event.payload, SectionPrepared):
                self._said = (*self._said, with_assigned_id(event, before, after))[-MOST_SAID:]
            before = after

    def drafts(self, payloads: Sequence[Payload], origin: Origin, turn: int) -> tuple[EventDraft, ...]:
        """Drafts of payloads, with ids and the time from outside."""
        now = self._outside.clock()
        return tuple(EventDraft(self._outside.ids(), now, turn, origin, payload) for payload in payloads)

    # -- frames ------------------------------------------------------------------------------------------------

    def frame(
        self,
        used_tokens: int | None = None,
        limit_tokens: int | None = None,
        budget: int | None = None,
        density: Density | str | None = None,
        placement: str = "anchored",
        transcript: Sequence[TranscriptMessage | tuple[str, str] | str] | None = None,
        model: str = "",
        have: str = "",
        first: Callable[[], Sequence[EventDraft]] | None = None,
        sent: Callable[[Mapping[str, int]], SentTranscript] | SentTranscript | None = None,
        parts: RequestParts | None = None,
        outputs: Sequence[CallOutput] = (),
    ) -> Frame:
        """The frame of the next call, recorded durably before it is returned.

        `used_tokens` and `limit_tokens` are what the host reports (not given: the last report); `budget` is in
        tokens (not given: a share of the window); `density` follows the band where it is not given; `placement` is
        `anchored` or `system`; `transcript` tells which anchors are there and what the last message is. `have` is the
        `mark` of the last frame that was sent, where a later one came too late. What `first` gives is appended in
        the same commit, and the frame shows it; it is asked again where another writer came between. `sent` tells
        what of the transcript was sent before (or makes it of the sizes of the stubs, by call), `parts` what the
        request carries, `outputs` what the tools of the transcript brought: old ones may become stubs
        (`Frame.pruned`).

        Raises `ConfigError` for arguments out of range and `BudgetError` where not even the smallest frame fits. A
        store that refuses does not stop the call: the frame comes with a `notice`, and shows it.
        """
        ask = self._ask(used_tokens, limit_tokens, budget, density, placement, transcript, model)
        said = () if ask.where.anchors is None else self._said
        told = (lambda _: sent) if isinstance(sent, SentTranscript) else sent
        ask = msgspec.structs.replace(ask, have=have, said=said, sent=told, parts=parts, outputs=tuple(outputs))
        try:
            return self._record(ask, first)
        except StoreError as error:
            notice = f"state: read-only ({error.code}); changes are not recorded"
            spoilt = msgspec.structs.replace(ask, notice=notice)
            frame = build_frame(self._state, spoilt, self._desk).frame
            return msgspec.structs.replace(frame, notice=notice)

    def _record(self, ask: FrameRequest, first: Callable[[], Sequence[EventDraft]] | None) -> Frame:
        conflict: SequenceConflict | None = None
        for _ in range(APPEND_ATTEMPTS):
            state = self.state
            drafts = tuple(first()) if first else ()
            ahead = fold(preview_events(self.id, state.seq, drafts), state)
            if self._prepare is not None and (made := self._prepare(ahead)):
                more = self.drafts(made, Origin.SYSTEM, ahead.window.calls)
                drafts, ahead = (*drafts, *more), fold(preview_events(self.id, ahead.seq, more), ahead)
            try:
                composed = build_frame(ahead, ask, self._desk)
            except BudgetError:
                self._append(drafts, state.seq)
                raise
            own = self.drafts(composed.record, Origin.SYSTEM, ahead.window.calls + 1)
            try:
                self._append((*drafts, *own), state.seq)
            except SequenceConflict as error:
                conflict = error
                continue
            if any(isinstance(one, FrameBase | FrameDelta) for one in composed.record):
                self._known = ahead  # the next calls compare with it
                self._events |= {event.seq: event for event in self._said}
                self._said = ()
            return composed.frame
        assert conflict is not None
        raise conflict

    def _append(self, drafts: tuple[EventDraft, ...], expected: int) -> None:
        if drafts:
            self._take(self.log.append(self.id, drafts, expected=expected))

    def _event_at(self, seq: int) -> Event | None:
        """An event of which an answer tells, with the id that its item was given."""
        if seq not in self._events:
            before = self.state_at(seq - 1)
            for event in self.events(seq - 1, seq):
                self._events[seq] = with_assigned_id(event, before, apply(before, event))
        return self._events.get(seq)

    def frame_at(self, seq: int) -> Frame:
        """The frame at event `seq`: the recorded one, byte for byte, where a call ended there; elsewhere what a call
        would have got with the arguments of the last one. Where what was sent was redacted, the frame's `notice` says
        so. Raises `ConfigError` beyond the last event."""
        state = self.state_at(seq)
        frame = rebuild_frame(state, self._desk.typeset)
        if frame is not None:
            return frame
        would_be = self._would_be(state).frame
        sent = state.window.call is not None and state.window.call_seq == seq
        return msgspec.structs.replace(would_be, notice=REDACTED) if sent else would_be

    def whole(self, seq: int | None = None) -> Frame:
        """The state at event `seq` (the last, where it is not given) as one document with all that is known, as a
        base of full density would have it in the budget of the last call; nothing is recorded."""
        return self._would_be(self.state if seq is None else self.state_at(seq), "system").frame

    def coming(self) -> Frame:
        """What the first frame after a compaction will show of the state as it is; nothing is recorded."""
        state = self.state
        epoch = msgspec.structs.replace(state.epoch, over=state.epoch.over or "compaction")
        return self._would_be(msgspec.structs.replace(state, epoch=epoch), "anchored").frame

    def over(self) -> tuple[str, ...]:
        """Texts of items that ended since the last compaction, the newest last: a transcript may still hold them."""
        since = self.state.compacted.mark.seq
        return ended_texts(self.events(since, self.state.seq), self.state_at(since), self.state)

    def _would_be(self, state: HudState, placement: str = "") -> BuiltFrame:
        call = state.window.call
        ask = FrameRequest(
            used_tokens=None,
            limit_tokens=None,
            budget=call.budget if call else None,
            density=Density.FULL if placement else Density(call.density) if call and call.density else None,
            placement=placement or (call.placement if call else "anchored"),
            where=transcript_position(None),
            tag="000000",
            now=state.time,
        )
        desk = msgspec.structs.replace(self._desk, board=DocumentBuilder(), state_at=self.state_at, known={})
        return build_frame(state, ask, desk)

    def _ask(
        self,
        used: int | None,
        limit: int | None,
        budget: int | None,
        density: Density | str | None,
        placement: str,
        transcript: Sequence[TranscriptMessage | tuple[str, str] | str] | None,
        model: str,
    ) -> FrameRequest:
        figures: tuple[tuple[str, object, int], ...]
        figures = (("used_tokens", used, 0), ("limit_tokens", limit, 1), ("budget", budget, 1))
        for name, number, least in figures:
            if number is not None and (type(number) is not int or number < least):
                raise ConfigError(f"{name} is {number!r}", hint=f"Give whole tokens from {least}, or None")
        if placement not in PLACEMENTS:
            raise ConfigError(f"placement is {placement!r}", hint=f"It is one of {', '.join(PLACEMENTS)}")
        try:
            chosen = None if density is None else Density(density)
        except ValueError:
            raise ConfigError(f"density is {density!r}", hint=f"It is one of {', '.join(Density)}") from None
        return FrameRequest(
            used,
            limit,
            budget,
            chosen,
            placement,
            transcript_position(transcript),
            self._tag(),
            self._outside.clock(),
            model,
        )

    def _tag(self) -> str:
        """Six digits that a tool's output cannot guess: from the random end of a UUIDv7."""
        return f"{int(self._outside.ids()[-12:], 16) % 1_000_000:06d}"

    def _told(self, seq: int) -> HudState:
        """A past state that the next calls will ask for again."""
        if self._known is None or self._known.seq != seq:
            self._known = self.state_at(seq)
        return self._known

    def _take(self, events: tuple[Event, ...]) -> None:
        """Fold new events in; after a redaction or an undo, everything is folded again without what it took away."""
        redacts = any(isinstance(event.payload, Redact) for event in events)
        if redacts or undo_reaches(events, self._state.seq):
            if redacts:
                self._known, self._said, self._events = None, (), {}
            self._state = fold(self.events(0, events[-1].seq))
        else:
            self._state = fold(events, self._state)
        if self._state.seq - self._saved >= SNAPSHOT_EVERY:
            self._save()

    # -- snapshots ---------------------------------------------------------------------------------------------

    def _restore(self, upto: int | None) -> HudState:
        saved = self.log.get_snapshot(self.id, STATE_VERSION, upto=upto)
        if saved is None:
            return HudState(session_id=self.id)
        try:
            state = decode_state(saved.body)
        except (msgspec.DecodeError, HudkitError):
            return HudState(session_id=self.id)
        self._saved = max(self._saved, state.seq)
        return state

    def _save(self) -> None:
        self._saved = self._state.seq
        try:
            self.log.put_snapshot(Snapshot(self.id, self._state.seq, STATE_VERSION, encode_state(self._state)))
        except StoreError:
            return  # a snapshot only saves time
