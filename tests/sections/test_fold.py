"""Contract 1 at the level of the fold: snapshot and tail give the state at every sequence number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import StoreDamaged
from hudkit.log import PAYLOADS, Event, Origin, type_of
from hudkit.log.codec import encode_payload
from hudkit.log.payloads import EventUndo, NoteAdd, Payload
from hudkit.sections import STATE_FIELDS, HudState, apply, decode_state, encode_state, fold
from hudkit.sections.state import _REDUCERS, undo_reaches
from strategies import payloads


def events_of(told: list[Payload], session: str = "s") -> list[Event]:
    """Events as a log would give them back (sealed)."""
    return [
        Event(
            f"id{n}",
            n,
            session,
            n // 3,
            1000 * n,
            type_of(payload),
            1,
            list(Origin)[n % 5],
            encode_payload(payload).payload,
        )
        for n, payload in enumerate(told, 1)
    ]


@pytest.mark.slow
@given(st.lists(payloads, max_size=40), st.data())
def test_snapshot_and_tail_give_the_state_at_every_seq(told: list[Payload], data: st.DataObject) -> None:
    events = events_of(told)
    cut = data.draw(st.integers(0, len(events)))
    before = fold(events[:cut])
    restored = decode_state(encode_state(before))
    assert restored == before
    if not undo_reaches(events[cut:], cut):  # else a session folds from the beginning
        assert fold(events[cut:], restored) == fold(events)
    plain = [event for event in events if not isinstance(event.payload, EventUndo)]
    if len(plain) == len(events):
        state = HudState()
        for event in events:
            state = apply(state, event)
        assert fold(events) == state


@given(st.lists(payloads, max_size=30))
def test_ids_are_never_given_twice_and_texts_stand_once(told: list[Payload]) -> None:
    given_ids: dict[str, str] = {}
    state = HudState()
    for event in events_of(told):
        state = apply(state, event)
        for name in ("constraints", "decisions", "notes", "steps", "blockers", "errors"):
            items = getattr(state, name).items
            assert len({item.id for item in items}) == len(items), name
            for item in items:
                assert item.id.strip()
        for note in state.decisions:
            known = given_ids.setdefault(note.id, note.summary)
            assert known == note.summary, "a decision's text never changes under its id"


def test_a_gap_is_refused() -> None:
    first, second, third = events_of([NoteAdd("a"), NoteAdd("b"), NoteAdd("c")])
    with pytest.raises(StoreDamaged, match="event 3 of session 's' does not follow 1"):
        fold([first, third])
    assert len(fold([first, second, third]).notes) == 3


def test_every_concern_has_a_reducer_and_every_state_type_is_folded() -> None:
    folded = {name for rows in _REDUCERS.values() for name, _ in rows}
    assert folded == set(STATE_FIELDS)
    only_recorded = {"event.restate", "event.undo", "transcript.seen"}
    assert set(PAYLOADS) - set(_REDUCERS) == only_recorded, "facts that change no state by themselves"


def test_an_unknown_type_is_passed_over_and_counted() -> None:
    from hudkit.log import Unknown

    known = events_of([NoteAdd("a")])[0]
    strange = Event("id2", 2, "s", 0, 1, "moon.phase", 7, Origin.HOST, Unknown("moon.phase", 7, b'{"x":1}'))
    state = fold([known, strange])
    assert state.seq == 2 and state.notes == fold([known]).notes
