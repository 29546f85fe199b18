"""`HudState`: everything that is true of a session, one field a concern; the fields are the registry of sections.

A field `x` is folded by `hudkit.sections.x.reduce`, shown by `hudkit.sections.views.x`, and its operations are in
`hudkit.tools.x`; the order of the fields is the order in the document. Adding a section adds one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from importlib import import_module
from typing import Any

import msgspec

from hudkit.errors import StoreDamaged
from hudkit.log.event import Event
from hudkit.log.payloads import EventRestate, Unknown, type_of
from hudkit.log.restated import left, restated
from hudkit.sections.blockers import Blockers
from hudkit.sections.calibrated import Calibrated
from hudkit.sections.compacted import Compacted
from hudkit.sections.constraints import Constraints
from hudkit.sections.custom import Custom
from hudkit.sections.decisions import Decisions
from hudkit.sections.epoch import Epoch
from hudkit.sections.errors import Errors
from hudkit.sections.files import Files
from hudkit.sections.items import Items
from hudkit.sections.notes import Notes
from hudkit.sections.progress import Progress
from hudkit.sections.project import Project
from hudkit.sections.pruned import Pruned
from hudkit.sections.rounds import Rounds
from hudkit.sections.session import SessionFacts
from hudkit.sections.shared import Shared
from hudkit.sections.steps import Steps
from hudkit.sections.task import Task
from hudkit.sections.todos import Todos
from hudkit.sections.undone import spent, undone
from hudkit.sections.window import WindowFacts


class HudState(msgspec.Struct, frozen=True, omit_defaults=True):
    """The state as of event `seq`, whose turn and time (Unix ms) were `turn` and `at`."""

    session_id: str = ""
    seq: int = 0
    turn: int = 0
    at: int = 0
    task: Task = Task()
    constraints: Constraints = Constraints()
    blockers: Blockers = Blockers()
    steps: Steps = Steps()
    todos: Todos = Todos()
    decisions: Decisions = Decisions()
    shared: Shared = Shared()
    errors: Errors = Errors()
    notes: Notes = Notes()
    files: Files = Files()
    progress: Progress = Progress()
    compacted: Compacted = Compacted()
    project: Project = Project()
    session: SessionFacts = SessionFacts()
    custom: Custom = Custom()
    window: WindowFacts = WindowFacts()
    calibrated: Calibrated = Calibrated()
    epoch: Epoch = Epoch()
    pruned: Pruned = Pruned()
    rounds: Rounds = Rounds()


SECTIONS: tuple[str, ...] = tuple(
    field.name for field in msgspec.structs.fields(HudState) if field.name not in ("session_id", "seq", "turn", "at")
)
"""Every concern, in the order of the document."""

_Reduce = Callable[[Any, Event], Any]
_TABLE: dict[str, tuple[tuple[str, _Reduce], ...]] = {}

for _name in SECTIONS:
    _module = import_module(f"hudkit.sections.{_name}")
    for _kind in _module.HANDLES:
        _tag = _kind.__struct_config__.tag
        _TABLE[_tag] = (*_TABLE.get(_tag, ()), (_name, _module.reduce))

_replace = msgspec.structs.replace


def apply(state: HudState, event: Event, *, void: bool = False) -> HudState:
    """The state after one more event; a `void` one was undone and changes nothing but the numbering.

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
        "turn": max(state.turn, event.turn),
        "at": event.timestamp,
    }
    if event.payload is not None:
        for name, reduce in _TABLE.get(type_of(event.payload), ()):
            before = getattr(state, name)
            after = reduce(before, event)
            changed[name] = spent(before, after) if void else after
    return _replace(state, **changed)


def glimpse(events: Iterable[Event], state: HudState) -> HudState:
    """What `state` would be after some of the events that follow it, without the others between them."""
    seq = state.seq
    for event in events:
        state = apply(_replace(state, seq=event.seq - 1), event)
    return _replace(state, seq=seq)


def with_id(event: Event, before: HudState, after: HudState) -> Event:
    """The event, and in its payload the id that its item was given: so that `glimpse` gives the same one."""
    payload = event.payload
    if payload is None or isinstance(payload, Unknown) or getattr(payload, "id", None) != "":
        return event
    for name, _ in _TABLE.get(type_of(payload), ()):
        items = getattr(after, name)
        if isinstance(items, Items) and items is not getattr(before, name):
            new = next((item for item in items if item.mark.seq == event.seq), None)
            if new is not None and getattr(before, name).get(new.id) is None:
                return _replace(event, payload=_replace(payload, id=new.id))
    return event


def fold(events: Iterable[Event], state: HudState | None = None) -> HudState:
    """`state` (empty when not given) after all of `events`, without those among them that are undone by others; of
    those that were redacted, with what is left.

    An undo of an event that `state` holds already has no effect here: fold from before that event (`reaches`).
    """
    state = state or HudState()
    told = tuple(events)
    gone = undone(told)
    restatements = (event.payload for event in told if isinstance(event.payload, EventRestate))
    kept = {one.seq: what for one in restatements if (what := left(one)) is not None}
    for event in told:
        state = apply(state, restated(event, kept) if kept else event, void=event.seq in gone)
    return state


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(HudState).decode


def dump(state: HudState) -> bytes:
    """The state as JSON, for a snapshot."""
    return _encode(state)


def load(body: bytes) -> HudState:
    """The state back from `dump`."""
    return _decode(body)


def _version() -> str:
    shape = [
        (name, [(f.name, str(f.type)) for f in msgspec.structs.fields(type(getattr(HudState(), name)))])
        for name in SECTIONS
    ]
    return "2-" + blake2b(repr(shape).encode(), digest_size=6).hexdigest()


VERSION = _version()
"""Names the shape of the state and (the number) the rules of the fold: a snapshot of another version is not read.
Raise the number when a reducer's rule changes and its shape does not."""
