"""One session of a log: append facts, read the state at any event, compose frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hudkit.compose import Density
from hudkit.config import Settings
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.errors import BudgetError, ConfigError, HudkitError, SequenceConflict, StoreDamaged, StoreError
from hudkit.hud.frame import (
    BuiltFrame,
    ComposeContext,
    Frame,
    MeasuredRenderer,
    build_frame,
    rebuild_frame,
    view_options,
)
from hudkit.hud.frame_request import (
    KEPT_PLACEMENTS,
    FrameRequest,
    TranscriptMessage,
    TranscriptPosition,
    transcript_position,
)
from hudkit.log.codec import ID_LIMIT, EncodedDraft, encode_draft, is_id
from hudkit.log.event import Event, EventDraft, Origin
from hudkit.log.event_log import Batch, EventLog, Snapshot
from hudkit.log.payloads import (
    ContextSnapshot,
    EventGap,
    EventRestate,
    EventUndo,
    FrameBase,
    FrameDelta,
    MessagesRevert,
    Payload,
    Redact,
    RequestParts,
    SectionPrepared,
    SentTranscript,
    TaskSet,
    type_of,
)
from hudkit.log.redaction import RestatedEvents
from hudkit.sections.call_history import MAX_GAPS
from hudkit.sections.document_builder import DocumentBuilder
from hudkit.sections.section import ORIGIN_LABELS, SectionSpec
from hudkit.sections.state import (
    STATE_VERSION,
    HudState,
    apply,
    decode_state,
    encode_state,
    fold,
    state_after,
    undo_reaches,
    with_assigned_id,
)
from hudkit.sections.table import SECTIONS
from hudkit.tokens.counting import TokenCounter

if TYPE_CHECKING:
    from hudkit.transcripts.search import PastSessions

SNAPSHOT_EVERY = 500
"""A snapshot is saved when this many events were folded since the last one: it saves time, nothing else."""

PLACEMENTS = ("anchored", "system", *KEPT_PLACEMENTS)
"""Where a frame goes: in layers that keep the prefix cache, or whole into the system prompt."""

MAX_ANSWERED = 100
"""Events that are remembered because an answer of a tool tells of them; what is forgotten is told twice."""

CHECKED_PER_CALL = 64
"""Events behind a saved state that a call reads, to find damage in them: a millisecond's work."""

MAX_PAST_STATES = 8
"""Past states that are remembered: those of the base and of the last blocks, of which the next calls tell."""

APPEND_ATTEMPTS = 8
"""How often an append that depends on the state is tried again when another writer was first."""

REDACTED = "what was sent was redacted; this is what the state would show without it"

WOULD_BE_TAG = "000000"
"""The tag of a frame that is never sent."""

MAX_UNSHOWN = 40
"""Live items without room in the next frame of which a summary is asked to tell, the most important ones."""

_MIN_UNSHOWN_PRIORITY = 61
"""The least priority of such an item: notes and what was decided are above it."""

_ENDING = ("constraints", "preferences", "decisions", "steps", "blockers", "errors", "notes", "todos")
"""Sections whose items end; files are left rather than ended."""

_ENDING_SECTIONS = tuple(section for section in SECTIONS if section.name in _ENDING)


class FrameStep(NamedTuple):
    """Something that is made before a frame: `run` gives what is to be recorded with it, and never raises.

    It is asked only where there is anything to do: where `needs` gives something of the state (`None`: always).
    """

    run: Callable[[HudState], Sequence[Payload]]
    needs: Callable[[HudState], object] | None = None


class _Foreseen(NamedTuple):
    """The state after drafts that are to be appended behind event `seq` with the next frame. Whether it `is_ready`:
    nothing has to be made before a frame of it."""

    seq: int
    drafts: tuple[EncodedDraft, ...]
    state: HudState
    is_ready: bool

    def more(self, seq: int, drafts: tuple[EncodedDraft, ...]) -> tuple[EncodedDraft, ...] | None:
        """The rest of drafts behind event `seq` that begin with these very ones; `None` where they do not."""
        begin = seq == self.seq and len(drafts) >= len(self.drafts) and all(map(is_, drafts, self.drafts))
        return drafts[len(self.drafts) :] if begin else None


class _Unwritten(NamedTuple):
    """What a frame that has gone out still has to record behind event `seq`: drafts, the state `ahead` after those of
    them that messages told, whether a change that waits is among them, and who is told that it is done."""

    seq: int
    drafts: tuple[EventDraft, ...]
    ahead: HudState
    notes_change: bool
    recorded: Callable[[], object]


class ClockAndIds(msgspec.Struct, frozen=True):
    """What comes in from outside: the time (Unix ms) and ids (UUIDv7 as text)."""

    clock: Callable[[], int]
    ids: Callable[[], str]


class SessionCore:
    """A session's view of the log: what `HudSession` is without its tools.

    Not safe for several threads; several sessions, processes and hosts may write to one log, and each sees what the
    others wrote.
    """

    def __init__(
        self,
        log: EventLog,
        session_id: str,
        environment: ClockAndIds,
        counter: TokenCounter,
        settings: Settings | None = None,
        steps: Sequence[FrameStep] = (),
    ) -> None:
        """Raises `ConfigError` for an id that cannot be one. The `steps` are asked before each frame, in
        order, where they apply (`FrameStep`)."""
        if not is_id(session_id):
            hint = f"Give 1 to {ID_LIMIT} bytes of UTF-8 without NUL"
            raise ConfigError(f"session id {session_id!a:.80} cannot be used", hint=hint)
        self.id = session_id
        self.log = log
        self.settings = settings or Settings()
        self.past: PastSessions | None = None  # what was said in all sessions, where a host gives it
        self.model = ""  # of the last frame that named one
        self.looked_at_request = ("", 0)  # a message of the user's, and how many calls were held against it
        self.project_log: SessionCore | None = None  # where the project's defaults are kept, where there is a project
        renderer = MeasuredRenderer(counter)
        self._context = ComposeContext(
            renderer,
            DocumentBuilder(),
            self.settings,
            self._compared_state,
            {},
            self._event_at,
            getattr(log, "remark", ""),
        )
        self._environment = environment
        self._steps = tuple(steps)
        self._restated = RestatedEvents(log, session_id)
        self._state = HudState(session_id=session_id)
        self._newest: tuple[Event, ...] = ()  # the state's last ones: those that were folded in last
        self._snapshot_seq = 0
        self._past_states: dict[int, HudState] = {}  # past states that the next calls are compared with, by event
        self._ahead: tuple[ComposeContext, str] | None = None  # what the next base is composed with, its tag
        self._unchecked = (0, 0)  # events that a saved state stands for, from behind one up to another
        self._damage: list[EventGap] = []  # what was found damaged among them
        self._losses: list[str] | None = None  # what was found of them; `None` before the first frame
        self._refused_tag = ""  # of the calls whose base could not be recorded
        self._answered: tuple[Event, ...] = ()  # since the last call, in answers of tools
        self._events: dict[int, Event] = {}  # those of which answers tell
        self._foreseen: _Foreseen | None = None
        self._unwritten: _Unwritten | None = None

    # -- reading -----------------------------------------------------------------------------------------------

    @property
    def state(self) -> HudState:
        """Return the state as of now, other writers' events included."""
        self.write_behind()
        last = self.log.last_seq(self.id)
        if last and self._state.seq == 0:  # of a log without events there is no snapshot either
            self._state = self._restore(None)
        if last > self._state.seq:
            self._take(tuple(self.events(self._state.seq, last)))
        return self._state

    @property
    def known_state(self) -> HudState:
        """Return the state as of the last look at the log, which is not asked again.

        For who has just looked, and appends behind it with `expected`: what others wrote since is met there.
        """
        self.write_behind()
        return self._state if self._state.seq else self.state

    def state_at(self, seq: int) -> HudState:
        """Return the state as of event `seq` (0: before the first). Raises `ConfigError` beyond the last event."""
        self.write_behind()
        now = self._state
        if seq == now.seq:
            return now
        last = self.log.last_seq(self.id)
        if not 0 <= seq <= last:
            raise ConfigError(f"session {self.id!r} has no event {seq}", hint=f"It has events 0 to {last}")
        start = self._restore(seq)
        events = tuple(self.events(start.seq, seq))
        # An undo that reaches back behind the snapshot makes it void.
        return fold(self.events(0, seq)) if undo_reaches(events, start.seq) else fold(events, start)

    def events(self, after: int = 0, upto: int | None = None) -> Iterator[Event]:
        """Return the events with `after < seq <= upto`, in order; redacted ones with what is left of them.

        In the place of a damaged one stands an `EventGap`: one event that is gone must not make a session dark. What
        is asked for up to the last event of the known state is not read again where it is still in memory.
        """
        self.write_behind()
        if upto is not None and upto <= after:
            return iter(())
        if self._newest and upto == self._state.seq and after >= self._newest[0].seq - 1:
            return iter(self._newest[after - self._newest[0].seq + 1 :])
        return self._restated(self.log.read(self.id, after=after, upto=upto, past_damage=True))

    def other(self, key: str) -> HudState:
        """Return the state of another session of the log, as of now. Raises a `StoreError`."""
        counter = self._context.renderer.counter
        return SessionCore(self.log, key, self._environment, counter, self.settings).state

    # -- writing -----------------------------------------------------------------------------------------------

    def append(
        self, *payloads: Payload, origin: Origin = Origin.AGENT, turn: int | None = None, expected: int | None = None
    ) -> tuple[Event, ...]:
        """Append facts, all or none, durably, and return them as stored.

        Raises a `StoreError`; with `expected`, `SequenceConflict` where another writer was first.
        """
        if not payloads:
            return ()
        state = self.state
        turn = state.window.calls if turn is None else turn
        events = self.log.append(self.id, self.drafts(payloads, origin, turn), expected=expected)
        if events[0].seq == state.seq + 1:  # else another writer came between: read with the next state
            self._take(events)
        return events

    def decide(
        self, decision: Callable[[HudState], Sequence[Payload]], *, origin: Origin = Origin.AGENT
    ) -> tuple[tuple[Event, ...], HudState]:
        """Append what `decision` makes of the state, where no other writer's event comes between.

        Returns the events and the state that was decided on. `decision` is asked again when another writer was first.
        Raises a `StoreError`.
        """
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

    def foresee(self, drafts: Sequence[EventDraft]) -> tuple[tuple[EncodedDraft, ...], tuple[Event, ...], HudState]:
        """Work out what the next frame will do with drafts, and look for what is made before it; nothing is recorded.

        Returns them encoded, as the events that they will be behind the last known one, and the state after them. The
        frame whose pending events begin with the encoded ones takes these up. So does who foresees them with more.
        """
        state, encoded, foreseen = self.known_state, _encoded(drafts), self._foreseen
        events = _preview_events(self.id, state.seq, encoded)
        ahead = self._state_ahead(state, encoded, events)
        more = foreseen.more(state.seq, encoded) if foreseen is not None and foreseen.is_ready else None
        # At how full the window is, only sections of installed packages may look.
        is_ready = more is not None and not ahead.custom.sections and all(_is_report(draft.payload) for draft in more)
        self._foreseen = _Foreseen(state.seq, encoded, ahead, is_ready or not self._run_steps(ahead))
        return encoded, events, ahead

    def write_behind(self) -> None:
        """Record the last frame, where it went out before (`frame(recorded=…)`); return nothing.

        Whoever looks at the session in this process does this first. What the log refuses is dropped: the frame
        carried nothing that was not recorded, and what its messages told is told with the next.
        """
        unwritten, self._unwritten = self._unwritten, None
        if unwritten is None:
            return
        try:
            self._append(unwritten.drafts, unwritten.seq, unwritten.ahead, sync=False)
        except StoreError as error:
            import logging  # with it comes tokenize, for what hardly ever happens

            logging.getLogger("hudkit.log").warning("a call of %s is not recorded: %s", self.id, error)
            return
        if unwritten.notes_change:
            self._remember_block(unwritten.ahead)
        unwritten.recorded()

    def prepare(self) -> HudState:
        """Make and record now what the next frame needs made first; return the state after it."""
        self.decide(self._run_steps, origin=Origin.SYSTEM)
        return self.state

    def _run_steps(self, state: HudState) -> list[Payload]:
        """What the steps before a frame make; each is asked about the state as those before it leave it."""
        payloads: list[Payload] = [*self._untold_damage(state), *self._untold_loss(state)]
        ahead = state_after(state, *payloads) if payloads else state
        for step in self._steps:
            if step.needs is not None and not step.needs(ahead):
                continue
            new_payloads = step.run(ahead)
            if new_payloads:
                payloads += new_payloads
                ahead = state_after(state, *payloads)
        return payloads

    def _untold_loss(self, state: HudState) -> list[Payload]:
        """What tells the session that the log lost acknowledged events, which was found when it was opened."""
        if self._losses is None:
            findings = self.log.recorded_findings()
            losses = [finding.loss_of(self.id) for finding in findings if state.seq or finding.session_id == self.id]
            self._losses = list(filter(None, losses))
        if not self._losses or self._losses[-1] == state.gaps.loss:
            return []
        return [EventGap("lost", self._losses[-1])]

    def damage_behind_saved_state(self, limit: int) -> tuple[EventGap, ...]:
        """Return the damaged events among those that a saved state stands for, `limit` more of which are read now.

        The state is as it was when they were sound; made anew, it would lack what they said.
        """
        after, last = self._unchecked
        if after < last:
            upto = min(after + limit, last)
            for event in self.log.read(self.id, after=after, upto=upto, past_damage=True):
                if isinstance(event.payload, EventGap) and event.payload.damaged:
                    self._damage.append(msgspec.structs.replace(event.payload, damaged=False, of=event.seq))
            self._unchecked = (upto, last)
        return tuple(self._damage)

    def _untold_damage(self, state: HudState) -> list[Payload]:
        """What tells the session of damage behind its saved state; each call but the first one reads a part of that,
        until all was read once."""
        if self._losses is None:
            return []  # the first call: it has enough to read
        with suppress(StoreError):
            self.damage_behind_saved_state(CHECKED_PER_CALL)
        seqs_told = {*state.gaps.damaged, *state.gaps.repaired}
        untold: list[Payload] = [gap for gap in self._damage if gap.of not in seqs_told]
        return untold[: MAX_GAPS - len(state.gaps.damaged)]

    def note_answered(self, before: HudState) -> None:
        """Note that the agent has an answer that tells of what happened in the session since `before`.

        As long as the answer is in the transcript, no frame tells it again. No answer tells what a section shows, and
        of what is taken up from another session, but for its task, answers only tell how much it is.
        """
        try:
            events = tuple(self.events(before.seq, self.state.seq))
        except StoreError:
            return  # then it is told twice
        for event in events:
            after = apply(before, event)
            counted = getattr(event.payload, "taken_from", "") and not isinstance(event.payload, TaskSet)
            if not counted and not isinstance(event.payload, SectionPrepared):
                self._answered = (*self._answered, with_assigned_id(event, before, after))[-MAX_ANSWERED:]
            before = after

    def now(self) -> int:
        """Return the time from outside, in Unix milliseconds."""
        return self._environment.clock()

    def drafts(self, payloads: Sequence[Payload], origin: Origin, turn: int) -> tuple[EventDraft, ...]:
        """Return drafts of payloads, with ids and the time from outside."""
        clock_and_ids = self._environment
        now = clock_and_ids.clock()
        return tuple([EventDraft(clock_and_ids.ids(), now, turn, origin, payload) for payload in payloads])

    def follow_transcript(
        self, anchors: Sequence[str], *, whole: bool = False, used_tokens: int | None = None
    ) -> tuple[Event, ...]:
        """Record what a host took back or brought back, as its messages tell; return the events.

        Nothing here: whose messages an event is from, only `HudSession` knows.
        """
        del anchors, whole, used_tokens
        return ()

    def take_up_task(self) -> None:
        """Take up, before a session's first frame, what a person handed on to it.

        Nothing here: operations are known to `HudSession` only.
        """

    # -- frames ------------------------------------------------------------------------------------------------

    def frame(
        self,
        used_tokens: int | None = None,
        limit_tokens: int | None = None,
        budget: int | None = None,
        density: Density | str | None = None,
        placement: str = "anchored",
        transcript: Sequence[TranscriptMessage | tuple[str, str] | str] | TranscriptPosition | None = None,
        model: str = "",
        last_mark: str = "",
        pending_events: Callable[[], Sequence[EventDraft]] | None = None,
        sent_prefix: Callable[[Mapping[str, int]], SentTranscript] | SentTranscript | None = None,
        parts: RequestParts | None = None,
        outputs: Sequence[CallOutput] = (),
        history: Sequence[str] | None = None,
        tells_usage: bool = False,
        new_window: bool = False,
        old_blocks: bool = False,
        recorded: Callable[[], object] | None = None,
    ) -> Frame:
        """Return the frame of the next call, recorded before it is returned: durably, where it carries something for
        the first time.

        `used_tokens` and `limit_tokens` are what the host reports (not given: the last report); `budget` is in
        tokens (not given: a share of the window); `density` follows the band where it is not given; `placement` is
        `anchored` or `system`, or, in a host that keeps every block where it was first put and has no place for a
        tail, `kept` (the base is in the system prompt) or `conversation` (the base is a block, too). There the host
        may tell the model itself how many tokens remain (`tells_usage`), and say that nothing of the calls before is
        in the window any more (`new_window`), but for what it kept of them, with our blocks, as it may be
        (`old_blocks`): a new base then says that it takes their place.

        `transcript` tells which anchors are there and what the last message is. `last_mark` is the `mark` of the last
        frame that was sent, where a later one came too late. What `pending_events` gives is appended in the same
        commit, and the frame shows it; it is asked again where another writer came between.
        `sent_prefix` tells what of the transcript was sent before (or makes it of the sizes of the stubs, by call),
        `parts` what the request carries, `outputs` what the tools of the transcript brought: old ones may become
        stubs (`Frame.pruned`). What messages had recorded that the transcript has no more, because the host took
        them back, is taken back first (`follow_transcript`); `history` are the anchors of all messages that the host
        still has, where the transcript is only a part of them (empty: that is not known, and nothing is taken back).

        `recorded` is called once the frame is recorded. Where it is given, a frame that carries nothing for the first
        time is recorded by `write_behind`, once it has gone out.

        Raises `ConfigError` for arguments out of range and `BudgetError` where not even the smallest frame fits. A
        store that refuses does not stop the call: the frame comes with a `notice`, and shows it.
        """
        _check_figures(used_tokens, limit_tokens, budget)
        if placement not in PLACEMENTS:
            raise ConfigError(f"placement is {placement!r}", hint=f"It is one of {', '.join(PLACEMENTS)}")
        self.take_up_task()
        self.model = model or self.model
        position = transcript_position(transcript)
        still_there = position.order if history is None else history
        if still_there:
            with suppress(StoreError):  # then nothing can be recorded, and the frame says so
                self.follow_transcript(still_there, whole=bool(history), used_tokens=used_tokens)
        request = FrameRequest(
            used_tokens=used_tokens,
            limit_tokens=limit_tokens,
            budget=budget,
            density=_density(density),
            placement=placement,
            position=position,
            tag=self._refused_tag or self._tag(),
            now=self._environment.clock(),
            model=model,
            last_mark=last_mark,
            # Without a transcript nobody knows whether the answers are still in it.
            answered=() if position.anchors is None else self._answered,
            sent_prefix=(lambda _: sent_prefix) if isinstance(sent_prefix, SentTranscript) else sent_prefix,
            parts=parts,
            outputs=tuple(outputs),
            tells_usage=tells_usage,
            new_window=new_window,
            old_blocks=old_blocks,
        )
        try:
            frame = self._record(request, pending_events, recorded)
            self._refused_tag = ""
            return frame
        except StoreError as error:
            # A new tag in each call's base would break the provider's prefix cache with each call.
            self._refused_tag = request.tag
            notice = f"state: read-only ({error.code}); changes are not recorded"
            notice += "; to mend the log: hudkit repair" if isinstance(error, StoreDamaged) else ""
            unrecorded = msgspec.structs.replace(request, notice=notice)
            frame = build_frame(self._state, unrecorded, self._context).frame
            return msgspec.structs.replace(frame, notice=notice)

    def _record(
        self,
        request: FrameRequest,
        pending_events: Callable[[], Sequence[EventDraft]] | None,
        recorded: Callable[[], object] | None,
    ) -> Frame:
        conflict: SequenceConflict | None = None
        for _ in range(APPEND_ATTEMPTS):
            state = self.state
            drafts = _encoded(pending_events()) if pending_events else ()
            # The frame shows the pending events before they are stored: all of it is one commit.
            events = _preview_events(self.id, state.seq, drafts)
            ahead = self._state_ahead(state, drafts, events) if drafts else state
            # Of the very drafts that were foreseen: without any, time may have passed since.
            foreseen = self._foreseen
            is_ready = bool(drafts) and foreseen is not None and foreseen.is_ready and ahead is foreseen.state
            if not is_ready and (payloads := self._run_steps(ahead)):
                prepared = _encoded(self.drafts(payloads, Origin.SYSTEM, ahead.window.calls))
                drafts, ahead = (*drafts, *prepared), fold(_preview_events(self.id, ahead.seq, prepared), ahead)
            try:
                built = build_frame(ahead, request, self._context)
            except BudgetError:
                self._append(drafts, state.seq)  # what happened has happened, with a frame or without
                raise
            own = self.drafts(built.record, Origin.SYSTEM, ahead.window.calls + 1)
            # What a call carries for the first time outlives a loss of power before it is sent. That another call was
            # made, that a change waits, and what messages tell, which their host has, need not.
            sync = not all(map(_is_note_of_call, built.record))
            has_block = any(isinstance(payload, FrameBase | FrameDelta) for payload in built.record)
            if recorded is not None and not sync:
                self._unwritten = _Unwritten(state.seq, (*drafts, *own), ahead, has_block, recorded)
                return built.frame
            try:
                self._append((*drafts, *own), state.seq, ahead, sync=sync)
            except SequenceConflict as error:
                conflict = error
                continue
            if has_block:
                self._remember_block(ahead)
            if recorded is not None:
                recorded()
            return built.frame
        assert conflict is not None
        raise conflict

    def _state_ahead(self, state: HudState, drafts: tuple[EncodedDraft, ...], events: tuple[Event, ...]) -> HudState:
        """The state after drafts that are about to be appended, which will be these events; an undo among them
        reaches back. What was foreseen is not folded again."""
        if undo_reaches(events, state.seq):
            return fold((*self.events(0, state.seq), *events))
        foreseen = self._foreseen
        more = foreseen.more(state.seq, drafts) if foreseen is not None else None
        if foreseen is None or more is None:
            return fold(events, state)
        return fold(events[len(foreseen.drafts) :], foreseen.state) if more else foreseen.state

    def _remember_block(self, ahead: HudState) -> None:
        """Remember the state that a base or a block tells of, and the answers that it takes for told."""
        self._remember(ahead)
        self._events |= {event.seq: event for event in self._answered}
        self._answered = ()

    def _append(
        self, drafts: tuple[EventDraft, ...], expected: int, ahead: HudState | None = None, *, sync: bool = True
    ) -> None:
        """Append drafts behind event `expected`; `ahead` is the state after the first of them, where it is known."""
        if not drafts:
            return
        if sync:  # shares its commit with other sessions
            events = self.log.append(self.id, drafts, expected=expected)
        else:
            events = self.log.append_together((Batch(self.id, drafts, expected, sync=False),))[0]
        self._take(events, ahead)

    def frame_at(self, seq: int) -> Frame:
        """Return the frame at event `seq`: the recorded one, byte for byte, where a call ended there.

        Elsewhere it is what a call would have got with the arguments of the last one. Where what was sent was
        redacted, the frame's `notice` says so. Raises `ConfigError` beyond the last event.
        """
        state = self.state_at(seq)
        frame = rebuild_frame(state, self._context.renderer)
        if frame is not None:
            return frame
        would_be = self._would_be(state).frame
        was_sent = state.window.call is not None and state.window.call_seq == seq
        return msgspec.structs.replace(would_be, notice=REDACTED) if was_sent else would_be

    def whole_frame(self, seq: int | None = None) -> Frame:
        """Return the state at event `seq` (the last, where it is not given) as one document with all that is known.

        It is what a base of full density would have in the budget of the last call; nothing is recorded.
        """
        return self._would_be(self.state if seq is None else self.state_at(seq), "system").frame

    def frame_within(self, budget: int, seq: int | None = None) -> Frame:
        """Return the frame with a new base of the state at event `seq` (the last, where it is not given) that a
        budget in tokens would have; nothing is recorded.

        Raises `BudgetError` where not even the smallest frame fits, `ConfigError` for a budget that is none.
        """
        _check_figures(None, None, budget)
        state = self.state if seq is None else self.state_at(seq)
        epoch = msgspec.structs.replace(state.epoch, over=state.epoch.over or "budget")
        return self._would_be(msgspec.structs.replace(state, epoch=epoch), budget=budget).frame

    def frame_after_compaction(self) -> Frame:
        """Return what the first frame after a compaction will show of the state as it is; nothing is recorded."""
        state = self.state
        epoch = msgspec.structs.replace(state.epoch, over=state.epoch.over or "compaction")
        return self._would_be(msgspec.structs.replace(state, epoch=epoch), "anchored").frame

    def next_base(self) -> str:
        """Return the text of the base that an epoch would begin with now: the whole HUD; nothing is recorded.

        A host keeps it for a call whose frame comes too late. Empty where none can be made.
        """
        if self._ahead is None:
            self._ahead = (self._own_context(), self._tag())  # the same in all calls of this process
        try:
            state = self.state
            epoch = msgspec.structs.replace(state.epoch, over=state.epoch.over or "compaction")
            ahead = msgspec.structs.replace(state, epoch=epoch)
            return self._would_be(ahead, "anchored", *self._ahead).frame.base
        except (BudgetError, StoreError):
            return ""

    def ended_texts(self) -> tuple[str, ...]:
        """Return the texts of items that ended since the last compaction, the newest last.

        A transcript may still hold them as if they stood.
        """
        since = self.state.compacted.mark.seq
        return _ended_texts(self.events(since, self.state.seq), self.state_at(since), self.state)

    def unshown_texts(self) -> tuple[str, ...]:
        """Return the texts of live items for which the first frame after a compaction has no room, the most important
        ones, in the order of the document: of these, a summary is the only place in the window."""
        options = view_options(Density.FULL, self._context.settings)
        omitted = {omission.path for omission in self.frame_after_compaction().omitted}
        ranked = [
            (priority, item.text)
            for section in DocumentBuilder().items(self.state, options)
            for item, priority in zip(section.items, section.priorities, strict=True)
            if section.spec.name in _ENDING
            and priority >= _MIN_UNSHOWN_PRIORITY
            and not item.closed
            and f"/{section.spec.name}/{item.key}" in omitted
        ]
        best = set(sorted(range(len(ranked)), key=lambda n: -ranked[n][0])[:MAX_UNSHOWN])
        return tuple(text for n, (_, text) in enumerate(ranked) if n in best)

    def _would_be(
        self,
        state: HudState,
        placement: str = "",
        context: ComposeContext | None = None,
        tag: str = WOULD_BE_TAG,
        budget: int | None = None,
    ) -> BuiltFrame:
        call = state.window.call
        density = Density(call.density) if call and call.density else None
        request = FrameRequest(
            used_tokens=None,
            limit_tokens=None,
            budget=budget or (call.budget if call else None),
            density=Density.FULL if placement else density,
            placement=placement or (call.placement if call else "anchored"),
            position=transcript_position(None),
            tag=tag,
            now=state.time,
        )
        return build_frame(state, request, context or self._own_context())

    def _own_context(self) -> ComposeContext:
        """Memos of their own: those of the session are compared by identity with the states of its calls."""
        return msgspec.structs.replace(self._context, board=DocumentBuilder(), state_at=self.state_at, row_memo={})

    def _tag(self) -> str:
        """Six digits that a tool's output cannot guess: from the random end of a UUIDv7."""
        return f"{int(self._environment.ids()[-12:], 16) % 1_000_000:06d}"

    def _compared_state(self, seq: int) -> HudState:
        """A past state that the next calls will ask for again."""
        if seq not in self._past_states:
            self._remember(self.state_at(seq))
        return self._past_states[seq]

    def _remember(self, state: HudState) -> None:
        self._past_states[state.seq] = state
        if len(self._past_states) > MAX_PAST_STATES:
            del self._past_states[next(iter(self._past_states))]

    def _event_at(self, seq: int) -> Event | None:
        """An event of which an answer tells, with the id that its item was given."""
        if seq not in self._events:
            before = self.state_at(seq - 1)
            for event in self.events(seq - 1, seq):
                self._events[seq] = with_assigned_id(event, before, apply(before, event))
        return self._events.get(seq)

    def _take(self, events: tuple[Event, ...], ahead: HudState | None = None) -> None:
        """Fold new events in; after a redaction or an undo, everything is folded again without what it took away.

        `ahead` is the state after the first of them, which need not be folded twice.
        """
        self._newest = ()
        kinds = {type(event.payload) for event in events}
        redacts = Redact in kinds
        if redacts or undo_reaches(events, self._state.seq):
            if redacts:
                self._past_states, self._answered, self._events = {}, (), {}
            if MessagesRevert in kinds:
                # The answers that told of them are gone with their messages.
                self._answered = ()
            self._state = fold(self.events(0, events[-1].seq))
        else:
            before = ahead if ahead is not None and ahead.seq >= self._state.seq else self._state
            self._state = fold(events[before.seq - self._state.seq :], before)
            if kinds.isdisjoint((EventRestate, EventUndo)):
                self._newest = events
        if self._state.seq - self._snapshot_seq >= SNAPSHOT_EVERY:
            self._save()

    # -- snapshots ---------------------------------------------------------------------------------------------

    def _restore(self, upto: int | None) -> HudState:
        snapshot = self.log.get_snapshot(self.id, STATE_VERSION, upto=upto)
        if snapshot is None:
            return HudState(session_id=self.id)
        try:
            state = decode_state(snapshot.body)
        except (msgspec.DecodeError, HudkitError):  # a damaged one is no loss: the log has everything
            return HudState(session_id=self.id)
        self._snapshot_seq = max(self._snapshot_seq, state.seq)
        if upto is None:
            self._unchecked = (0, state.seq)
        return state

    def _save(self) -> None:
        self._snapshot_seq = self._state.seq
        try:
            self.log.put_snapshot(Snapshot(self.id, self._state.seq, STATE_VERSION, encode_state(self._state)))
        except StoreError:
            return  # a snapshot only saves time


def _is_note_of_call(payload: Payload) -> bool:
    """Whether a payload only notes a call, and nothing that its request carries: a block without text waits."""
    return isinstance(payload, ContextSnapshot) or (isinstance(payload, FrameDelta) and not payload.text)


def _is_report(payload: Payload) -> bool:
    """Whether a payload tells nothing but how full the window is."""
    return isinstance(payload, ContextSnapshot) and payload.call is None


def _check_figures(used: int | None, limit: int | None, budget: int | None) -> None:
    for name, number, least in (("used_tokens", used, 0), ("limit_tokens", limit, 1), ("budget", budget, 1)):
        if number is not None and (type(number) is not int or number < least):
            raise ConfigError(f"{name} is {number!r}", hint=f"Give whole tokens from {least}, or None")


def _density(density: Density | str | None) -> Density | None:
    try:
        return None if density is None else Density(density)
    except ValueError:
        raise ConfigError(f"density is {density!r}", hint=f"It is one of {', '.join(Density)}") from None


def _ended_texts(events: Iterable[Event], before: HudState, now: HudState) -> tuple[str, ...]:
    """Texts of items that ended in the events from `before` to `now`, in the order of their ends; what came back is
    not among them. An item whose text was changed ends with its old text."""
    state = before
    live = {section.name: _live_texts(section, state) for section in _ENDING_SECTIONS}
    ended: dict[str, None] = {}
    for event in events:
        after = apply(state, event)
        for section in _ENDING_SECTIONS:
            if any(getattr(after, name) is not getattr(state, name) for name in section.reads):
                texts = _live_texts(section, after)
                ended |= dict.fromkeys(text for text in live[section.name] if text not in texts)
                live[section.name] = texts
        state = after
    for texts in live.values():  # what was undone has no event of its own that ends it
        ended |= texts
    current = {text for section in _ENDING_SECTIONS for text in _live_texts(section, now)}
    # What is derived in one section may be a todo that is over.
    current |= {text.removesuffix(label) for text in current for label in ORIGIN_LABELS}
    return tuple(text for text in ended if text not in current)


def _live_texts(section: SectionSpec, state: HudState) -> dict[str, None]:
    return dict.fromkeys(row.text for row in section.rows(state) if not row.closed)


def _encoded(drafts: Iterable[EventDraft]) -> tuple[EncodedDraft, ...]:
    """Return drafts with what a log will hold of them. Raises what `encode_payload` raises."""
    return tuple(
        [
            each
            if isinstance(each, EncodedDraft)
            else encode_draft(each.id, each.timestamp, each.turn, each.origin, each.payload)
            for each in drafts
        ]
    )


def _preview_events(session_id: str, seq: int, drafts: Sequence[EncodedDraft]) -> tuple[Event, ...]:
    """Return the events that a log will make of these drafts behind event `seq`."""
    events = []
    for number, draft in enumerate(drafts, seq + 1):
        payload = draft.payload
        kind, version = type_of(draft.payload), draft.payload.V
        event = Event(draft.id, number, session_id, draft.turn, draft.timestamp, kind, version, draft.origin, payload)
        events.append(event)
    return tuple(events)
