"""A person's answers to what was read from plain words: it is right, it is worded otherwise, it is dropped.

No agent calls this: these are no operations. Each answer is an event of the user in the session's log, of the same
types as the operations write, so that it is listed, undone and told to the agent like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from hudkit.errors import ConfigError
from hudkit.hud import SessionCore
from hudkit.hud.always_file import KIND_NAMES, Section
from hudkit.log.event import Origin
from hudkit.log.payloads import (
    ConstraintAdd,
    ConstraintConfirm,
    ConstraintRemove,
    DecisionConfirm,
    DecisionRecord,
    DecisionRemove,
    EventUndo,
    Level,
    NoteAdd,
    NoteConfirm,
    NoteRemove,
    Payload,
    PreferenceAdd,
    PreferenceConfirm,
    PreferenceRemove,
    StatementPromote,
)
from hudkit.sections.constraints import Constraint
from hudkit.sections.decisions import Decision
from hudkit.sections.notes import Note
from hudkit.sections.preferences import Preference
from hudkit.sections.state import HudState
from hudkit.tools.record import record

_Item: TypeAlias = Constraint | Preference | Decision | Note

_MAX_TEXT_CHARS = 2_000
"""Characters of a new wording at most."""


class ReviewedItem(msgspec.Struct, frozen=True):
    """A rule, preference, decision or note of a session, with where it was read.

    `sentence` is the whole sentence, which may be the text itself, and `form` what it was taken for; both are empty
    where the item was recorded on purpose. `doubt` is a later sentence against it, which names an exception where the
    item is `suspended`. `level` is where it holds beyond the session, `time` is in Unix ms.
    """

    section: Section
    id: str
    text: str
    reason: str = ""
    derived: bool = False
    sentence: str = ""
    form: str = ""
    doubt: str = ""
    suspended: bool = False
    level: Level = ""
    origin: Origin = Origin.USER
    time: int = 0
    seq: int = 0

    @property
    def kind(self) -> str:
        """Return what it is, in a word of the user's: rule, preference, decision, note."""
        return KIND_NAMES[self.section]

    @property
    def speaker(self) -> str:
        """Return who said it, in words for the user."""
        return _SPEAKERS.get(self.origin, str(self.origin))


_SPEAKERS = {Origin.USER: "you", Origin.AGENT: "the agent", Origin.TOOL: "a tool's output", Origin.HOST: "the host"}


class _Kind(msgspec.Struct, frozen=True):
    """What is written of the items of a section."""

    confirm: Callable[[str], Payload]
    remove: Callable[[str], Payload]
    add: Callable[[str, ReviewedItem], Payload]


_KINDS: dict[str, _Kind] = {
    "constraints": _Kind(
        ConstraintConfirm,
        ConstraintRemove,
        lambda text, old: ConstraintAdd(text, old.id, sentence=old.sentence, form=old.form),
    ),
    "preferences": _Kind(
        PreferenceConfirm,
        PreferenceRemove,
        lambda text, old: PreferenceAdd(text, old.id, sentence=old.sentence, form=old.form),
    ),
    "decisions": _Kind(
        DecisionConfirm,
        DecisionRemove,
        lambda text, old: DecisionRecord(text, old.reason, old.id, sentence=old.sentence, form=old.form),
    ),
    "notes": _Kind(
        NoteConfirm,
        NoteRemove,
        lambda text, old: NoteAdd(text, old.id, sentence=old.sentence, form=old.form),
    ),
}
"""The sections that have derived items, in the order in which they are reviewed."""


def heard_items(session: SessionCore, state: HudState | None = None) -> tuple[ReviewedItem, ...]:
    """Return these items, each with the sentence that it was read in; of `state`, or as they are now.

    Raises a `StoreError`.
    """
    state = session.state if state is None else state
    return tuple(
        _with_source(session, section, item) for section in _KINDS for item in getattr(state, section) if item.derived
    )


def live_items(session: SessionCore) -> tuple[ReviewedItem, ...]:
    """Return all rules, preferences, decisions and notes of a session. Raises a `StoreError`."""
    state = session.state
    return tuple(_with_source(session, section, item) for section in _KINDS for item in getattr(state, section))


def find_item(items: Sequence[ReviewedItem], name: str) -> ReviewedItem:
    """Return the item that is named by its id, its text, or words that no other has. Raises `ConfigError`."""
    folded = name.strip().casefold()
    for matches in (
        [item for item in items if item.id == name],
        [item for item in items if item.text.casefold() == folded],
        [item for item in items if folded and folded in item.text.casefold()],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            ids = ", ".join(item.id for item in matches[:10])
            raise ConfigError(f"{len(matches)} items match {name!r:.80}", hint=f"Name one by its id: {ids}")
    raise ConfigError(f"the session has no item {name!r:.80}", hint="`hudkit review` lists them with their ids")


def keep_item(session: SessionCore, item: ReviewedItem) -> tuple[int, ...]:
    """Record that a derived item is right: it is marked no longer. Return the numbers of the events: none where that
    changes nothing. Raises a `StoreError`."""
    return _append(session, item, _KINDS[item.section].confirm(item.id))


def drop_item(session: SessionCore, item: ReviewedItem) -> tuple[int, ...]:
    """Record that an item is withdrawn; the same words are not heard again. Returns and raises as `keep_item`."""
    return _append(session, item, _KINDS[item.section].remove(item.id))


def edit_item(session: SessionCore, item: ReviewedItem, text: str) -> tuple[int, ...]:
    """Record that an item says `text` from now on, under its id and with the sentence that it was read in.

    The same text is the same as keeping it. Returns as `keep_item`. Raises `ConfigError` where the text is none, and
    a `StoreError`.
    """
    text = " ".join(text.split())
    if not text or len(text) > _MAX_TEXT_CHARS:
        raise ConfigError(f"the new wording has {len(text)} characters", hint=f"Give 1 to {_MAX_TEXT_CHARS}")
    if text == item.text:
        return keep_item(session, item)
    kind = _KINDS[item.section]
    return _append(session, item, kind.remove(item.id), kind.add(text, item))


def promote_item(session: SessionCore, item: ReviewedItem, level: Level) -> tuple[int, ...]:
    """Record that an item is right and holds at a level, beyond this session; empty: not any more.

    Returns and raises as `keep_item`. Putting it where sessions that begin find it is the caller's (`always_file`).
    """

    def decide(state: HudState) -> Sequence[Payload]:
        current = _current(state, item)
        changes = current.derived or current.mark.level != level
        return (StatementPromote(item.section, item.text, level),) if changes else ()

    # Not by `record`: whether an event of the user's changes anything is not seen on one of nobody's.
    events, _ = session.decide(decide, origin=Origin.USER)
    return tuple(event.seq for event in events)


def undo_answer(session: SessionCore, seqs: Sequence[int]) -> None:
    """Record that the events of an answer are taken back: the item is as it was. Raises a `StoreError`."""
    session.append(*(EventUndo(seq, "taken back in the review") for seq in reversed(seqs)), origin=Origin.USER)


def _append(session: SessionCore, item: ReviewedItem, *payloads: Payload) -> tuple[int, ...]:
    def decide(state: HudState) -> Sequence[Payload]:
        _current(state, item)
        return payloads

    change = record(session, Origin.USER, decide)
    return tuple(event.seq for event in change.events)


def _current(state: HudState, item: ReviewedItem) -> _Item:
    """The item as it is now. Raises `ConfigError` where another writer changed or ended it since it was listed."""
    current: _Item | None = getattr(state, item.section).get(item.id)
    if current is None or current.words != item.text:
        raise ConfigError(f"{item.kind} {item.id} has changed meanwhile", hint="`hudkit review` lists what there is")
    return current


def _with_source(session: SessionCore, section: str, item: _Item) -> ReviewedItem:
    """An item with what the event says that it comes from."""
    mark = item.mark
    event = next(session.events(mark.seq - 1, mark.seq), None) if mark.seq else None
    payload = event.payload if event is not None else None
    sentence = getattr(payload, "sentence", "") or getattr(payload, "source", "")
    return ReviewedItem(
        section,  # type: ignore[arg-type]  # one of those of the table
        item.id,
        item.words,
        getattr(item, "details", ""),
        item.derived,
        sentence or (item.words if item.derived else ""),
        getattr(payload, "form", ""),
        item.doubt,
        item.suspended,
        mark.level,
        mark.origin,
        mark.time,
        mark.seq,
    )
