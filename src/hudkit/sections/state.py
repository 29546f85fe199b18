"""`HudState`, everything that is true of a session: its fold from the log, undo by folding without, and its snapshot.

**Undo.** Nothing in a log is changed or removed. An undo is one more event that names an earlier one (a revert of a
host's messages names several), and the state is folded without what is undone. An undone event still counts: its
number, and the ids that it gave to items, are not given again, because they stand in somebody's transcript.

**Example.** Event 1 adds the note n1, event 2 adds n2, event 3 undoes 1. The fold of all three has n2 only, and the
next note is n3. A snapshot of event 2 has both notes, so after event 3 it is of no use: the fold begins before
event 1 (`undo_reaches`).

The fields of `HudState` are the sections of `sections/table.py`, in that order, and the states of
`sections/call_history.py` and `sections/model_calibration.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import msgspec

from hudkit.errors import StoreDamaged
from hudkit.lazy import blake2b
from hudkit.log import Event, Origin, Payload
from hudkit.log.payloads import (
    PAYLOADS,
    CompactAfter,
    CompactBefore,
    CompactUndone,
    ContextSnapshot,
    EventGap,
    EventRestate,
    EventUndo,
    FrameBase,
    FrameDelta,
    FrameUnsent,
    MessagesRevert,
    OutputsPrune,
    ProjectSet,
    Redact,
    SessionLink,
    SessionOffer,
    SessionStart,
    ShareSync,
    StatementPromote,
    TodoSync,
    Unknown,
    type_of,
)
from hudkit.log.redaction import restate, restated_payload
from hudkit.sections.blockers import BlockersState
from hudkit.sections.call_history import (
    CALL_FOLDS,
    CompactionHistory,
    EpochState,
    FileUses,
    LogGaps,
    PrunedOutputs,
    StandingReverts,
    WindowState,
)
from hudkit.sections.compacted import CompactedState
from hudkit.sections.constraints import ConstraintsState
from hudkit.sections.custom import CustomState
from hudkit.sections.decisions import DecisionsState
from hudkit.sections.errors import ErrorsState
from hudkit.sections.files import FilesState
from hudkit.sections.items import ItemList
from hudkit.sections.model_calibration import CALIBRATION_EVENTS, ModelCalibrations, reduce_calibrations
from hudkit.sections.notes import NotesState
from hudkit.sections.preferences import PreferencesState
from hudkit.sections.progress import ProgressState
from hudkit.sections.project import ProjectState
from hudkit.sections.recent import RecentState
from hudkit.sections.session_facts import SessionFacts
from hudkit.sections.shared import SharedState
from hudkit.sections.steps import StepsState
from hudkit.sections.subagents import SubagentsState
from hudkit.sections.table import SECTIONS
from hudkit.sections.task import TaskState
from hudkit.sections.todos import TodosState

_replace = msgspec.structs.replace


class HudState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state as of event `seq`, whose turn and time (Unix ms) were `turn` and `time`."""

    session_id: str = ""
    seq: int = 0
    turn: int = 0
    time: int = msgspec.field(default=0, name="at")
    task: TaskState = TaskState()
    constraints: ConstraintsState = ConstraintsState()
    preferences: PreferencesState = PreferencesState()
    blockers: BlockersState = BlockersState()
    steps: StepsState = StepsState()
    todos: TodosState = TodosState()
    recent: RecentState = RecentState()
    decisions: DecisionsState = DecisionsState()
    subagents: SubagentsState = SubagentsState()
    shared: SharedState = SharedState()
    errors: ErrorsState = ErrorsState()
    notes: NotesState = NotesState()
    files: FilesState = FilesState()
    progress: ProgressState = ProgressState()
    compacted: CompactedState = CompactedState()
    project: ProjectState = ProjectState()
    session: SessionFacts = SessionFacts()
    custom: CustomState = CustomState()
    window: WindowState = WindowState()
    model_calibration: ModelCalibrations = msgspec.field(default=ModelCalibrations(), name="calibrated")
    epoch: EpochState = EpochState()
    pruned_outputs: PrunedOutputs = msgspec.field(default=PrunedOutputs(), name="pruned")
    file_uses: FileUses = FileUses()
    compaction_history: CompactionHistory = msgspec.field(default=CompactionHistory(), name="rounds")
    gaps: LogGaps = LogGaps()
    reverts: StandingReverts = StandingReverts()

    @property
    def model(self) -> str:
        """Return the model of the last call, else the one that the host told at the start; empty: nobody told."""
        return self.window.model or self.session.model


_Reduce = Callable[[Any, Event], Any]
_Fold = tuple[str, tuple[type[Any], ...], _Reduce]

_FOLDS: tuple[_Fold, ...] = (
    *((spec.name, spec.logic.handles, spec.logic.reduce) for spec in SECTIONS),
    ("window", *CALL_FOLDS["window"]),
    ("model_calibration", CALIBRATION_EVENTS, reduce_calibrations),
    ("epoch", *CALL_FOLDS["epoch"]),
    ("pruned_outputs", *CALL_FOLDS["pruned_outputs"]),
    ("file_uses", *CALL_FOLDS["file_uses"]),
    ("compaction_history", *CALL_FOLDS["compaction_history"]),
    ("gaps", *CALL_FOLDS["gaps"]),
    ("reverts", *CALL_FOLDS["reverts"]),
)
"""Each field of `HudState` with the payloads that it is folded from, and its reducer."""

STATE_FIELDS: tuple[str, ...] = tuple(name for name, _, _ in _FOLDS)
"""Every field of `HudState` that is folded, the sections first, in the order of the document."""

_REDUCERS: dict[str, tuple[tuple[str, _Reduce], ...]] = {}
"""By the tag of an event, the fields that it may change, with their reducers."""

for _name, _handles, _reducer in _FOLDS:
    for _payload in _handles:
        _tag = _payload.__struct_config__.tag
        _REDUCERS[_tag] = (*_REDUCERS.get(_tag, ()), (_name, _reducer))


def apply(state: HudState, event: Event, *, void: bool = False) -> HudState:
    """Return the state after one more event; a `void` one was undone and changes nothing but the numbering.

    Raises `StoreDamaged` where the event is not the next one.
    """
    if event.seq != state.seq + 1:
        raise StoreDamaged(
            f"event {event.seq} of session {event.session_id!r} does not follow {state.seq}",
            hint="Run `hudkit verify` to see what is missing",
        )
    changed: dict[str, Any] = {
        "session_id": event.session_id,
        "seq": event.seq,
        # A host may tell late what belongs to an earlier turn.
        "turn": max(state.turn, event.turn),
        "time": event.timestamp or state.time,  # of a damaged event nobody knows when it was
    }
    # A redacted event has no payload: it counts, and says nothing.
    if event.payload is not None:
        for name, reducer in _REDUCERS.get(type_of(event.payload), ()):
            before = getattr(state, name)
            after = reducer(before, event)
            changed[name] = _with_new_count(before, after) if void else after
        if isinstance(event.payload, EventGap):
            changed |= _numbers_taken(state, event.payload.was)
    return _replace(state, **changed)


def _numbers_taken(state: HudState, type_: str) -> dict[str, Any]:
    """The sections in which an event of this type, which is gone, had numbered an item: the number stays taken.

    Else each item after it would be called by the number before its own, and a later event would mean another item.
    """
    kind = PAYLOADS.get(type_)
    fields = msgspec.structs.fields(kind) if kind is not None else ()
    numbers_items = any(field.name == "id" and field.default == "" for field in fields)
    sections = {name: getattr(state, name) for name, _ in _REDUCERS.get(type_, ())} if numbers_items else {}
    return {
        name: _replace(section, count=section.count + 1)
        for name, section in sections.items()
        if isinstance(section, ItemList)
    }


def preview_state(events: Iterable[Event], state: HudState) -> HudState:
    """Return what `state` would be after some of the events that follow it, without the others between them."""
    seq = state.seq
    for event in events:
        state = apply(_replace(state, seq=event.seq - 1), event)
    return _replace(state, seq=seq)


def state_after(state: HudState, *payloads: Payload) -> HudState:
    """Return the state as these payloads would make it, ids included."""
    events = [
        Event("", seq, state.session_id, state.turn, state.time, type_of(payload), payload.V, Origin.AGENT, payload)
        for seq, payload in enumerate(payloads, state.seq + 1)
    ]
    return fold(events, state)


def with_assigned_id(event: Event, before: HudState, after: HudState) -> Event:
    """Return the event, and in its payload the id that its item was given: so that `preview_state` gives the same."""
    payload = event.payload
    if payload is None or isinstance(payload, Unknown) or getattr(payload, "id", None) != "":
        return event
    for name, _ in _REDUCERS.get(type_of(payload), ()):
        items, items_before = getattr(after, name), getattr(before, name)
        # A repetition made no item, and has no id to remember.
        if isinstance(items, ItemList) and items is not items_before:
            new = next((item for item in items if item.mark.seq == event.seq), None)
            if new is not None and items_before.get(new.id) is None:
                return _replace(event, payload=_replace(payload, id=new.id))
    return event


def fold(events: Iterable[Event], state: HudState | None = None) -> HudState:
    """Return `state` (empty when not given) after all of `events`, without those that others of them undo.

    Of those that were redacted, what is left counts. An undo of an event that `state` holds already has no effect
    here: fold from before that event (`undo_reaches`).
    """
    state = state or HudState()
    events = tuple(events)
    gone = undone_seqs(events)
    restatements = (event.payload for event in events if isinstance(event.payload, EventRestate))
    remains = {
        restatement.seq: rest for restatement in restatements if (rest := restated_payload(restatement)) is not None
    }
    for event in events:
        state = apply(state, restate(event, remains) if remains else event, void=event.seq in gone)
    return state


PERMANENT_TYPES: dict[str, str] = {
    kind.__struct_config__.tag: why  # type: ignore[misc]
    for kinds, why in (
        (
            (FrameBase, FrameDelta, FrameUnsent, OutputsPrune, ContextSnapshot),
            "it says what was sent, and what was sent stays sent",
        ),
        ((CompactBefore, CompactAfter, CompactUndone), "the host compacted, and only the host can take that back"),
        ((Redact, EventRestate), "what was redacted is gone"),
        ((EventGap,), "what is missing in the log is missing"),
        ((MessagesRevert,), "the host took the messages back, and only the host can bring them back"),
        ((SessionStart, SessionLink, TodoSync), "it is the host's own, and is told again"),
        ((SessionOffer, ShareSync), "it tells of another session"),
        ((StatementPromote,), "its user said so, and takes it back with `hudkit review --forget`"),
        ((ProjectSet,), "the project's defaults are set again by project.set"),
    )
    for kind in kinds
}
"""Types that cannot be undone, and why."""


def undone_seqs(events: Iterable[Event]) -> frozenset[int]:
    """Return the sequence numbers that these events take back; an undo that is itself undone takes nothing back.

    Example: event 3 adds a note, 4 undoes 3, 5 undoes 4. Read from the newest on: 5 holds, so 4 is taken back, and an
    undo that is taken back takes nothing back. The result is {4}, and the note of event 3 is there.
    """
    undos = [event for event in events if isinstance(event.payload, EventUndo | MessagesRevert)]
    gone: set[int] = set()
    # The newest first: whether an undo holds is known once all that could undo it were looked at.
    for event in sorted(undos, key=_seq, reverse=True):
        if event.seq not in gone:
            gone.update([seq for seq in _undone_by(event) if seq < event.seq])
    return frozenset(gone)


def undo_reaches(events: Iterable[Event], seq: int) -> bool:
    """Return whether one of these events takes back another that a state as of `seq` holds already."""
    return any(undone <= seq for event in events for undone in _undone_by(event))


def _undone_by(event: Event) -> tuple[int, ...]:
    """The numbers of the events that this one takes back."""
    match event.payload:
        case EventUndo(seq=seq):
            return (seq,)
        case MessagesRevert(seqs=seqs):
            return seqs
    return ()


def _with_new_count(before: Any, after: Any) -> Any:
    """A section as it was before an event, but for the numbers that the event gave: they are not given again."""
    # An id that was given once and undone is in somebody's transcript.
    if isinstance(after, ItemList) and isinstance(before, ItemList) and after.count != before.count:
        return _replace(before, count=after.count)
    return before


def _seq(event: Event) -> int:
    return event.seq


_encode = msgspec.json.Encoder().encode


@cache
def _decoder() -> msgspec.json.Decoder[HudState]:
    return msgspec.json.Decoder(HudState)  # made for the first snapshot: few who read a state have one


def encode_state(state: HudState) -> bytes:
    """Return the state as JSON, for a snapshot."""
    return _encode(state)


def decode_state(body: bytes) -> HudState:
    """Return the state of `encode_state`'s JSON. Raises `msgspec.DecodeError`."""
    return _decoder().decode(body)


def _state_version() -> str:
    empty = HudState()
    shape: list[object] = []
    for name in STATE_FIELDS:
        kind = type(getattr(empty, name))
        # As they are written: to evaluate them costs each process 4 ms.
        types = [vars(base).get("__annotations__", {}) for base in kind.__mro__]
        shape.append((name, kind.__struct_encode_fields__, types))
    return "3-" + blake2b(repr(shape).encode(), digest_size=6).hexdigest()


STATE_VERSION = _state_version()
"""Names the shape of the state and (the number) the rules of the fold: a snapshot of another version is not read.
Raise the number when a reducer's rule changes and its shape does not."""
