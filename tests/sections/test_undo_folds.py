"""An undone event is as if it had never been: at the level of the fold, of a session, and of the operation."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.api import Hud
from hudkit.errors import OperationError
from hudkit.log import Event, Origin, type_of
from hudkit.log.codec import encode_payload
from hudkit.log.payloads import (
    CompactAfter,
    ConstraintAdd,
    DecisionRecord,
    EventUndo,
    NoteAdd,
    NoteUpdate,
    Payload,
    SectionClear,
    TodoItem,
    TodoSync,
)
from hudkit.sections import STATE_FIELDS, HudState, fold
from hudkit.sections.items import ItemList
from hudkit.sections.state import PERMANENT_TYPES
from strategies import payloads

doable = payloads.filter(
    lambda payload: type_of(payload) not in PERMANENT_TYPES and not isinstance(payload, EventUndo)
)


def events(told: list[Payload]) -> list[Event]:
    return [
        Event(
            f"id{n}",
            n,
            "s",
            n // 3,
            1000 * n,
            type_of(payload),
            1,
            list(Origin)[n % 5],
            encode_payload(payload).payload,
        )
        for n, payload in enumerate(told, 1)
    ]


def true(state: HudState) -> list[bytes]:
    """What a state says, without where the log ends and how many ids were given."""
    shown = (getattr(state, name) for name in STATE_FIELDS)
    return [
        msgspec.json.encode(msgspec.structs.replace(each, count=0) if isinstance(each, ItemList) else each)
        for each in shown
    ]


@pytest.mark.slow
@given(st.lists(payloads.filter(lambda p: not isinstance(p, EventUndo)), max_size=15), doable)
def test_appended_and_undone_is_never_appended(told: list[Payload], one: Payload) -> None:
    both = fold(events([*told, one, EventUndo(len(told) + 1)]))
    assert true(both) == true(fold(events(told)))
    assert both.seq == len(told) + 2


@pytest.mark.slow
@given(st.lists(payloads.filter(lambda p: not isinstance(p, EventUndo)), max_size=12), doable)
def test_an_undo_undone_is_the_event_again(told: list[Payload], one: Payload) -> None:
    at = len(told) + 1
    assert true(fold(events([*told, one, EventUndo(at), EventUndo(at + 1)]))) == true(fold(events([*told, one])))


def test_what_came_later_keeps_its_id() -> None:
    state = fold(events([NoteAdd("a"), NoteAdd("b"), NoteUpdate("n2", "b2"), EventUndo(1), NoteAdd("c")]))
    assert [(note.id, note.content) for note in state.notes] == [("n2", "b2"), ("n3", "c")]


def test_what_a_clear_took_comes_back() -> None:
    state = fold(events([NoteAdd("a"), ConstraintAdd("r"), SectionClear(""), EventUndo(3)]))
    assert [note.content for note in state.notes] == ["a"]
    assert [rule.text for rule in state.constraints] == ["r"]


@pytest.mark.slow
def test_a_session_undoes_across_snapshots_and_keeps_its_past() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(*(NoteAdd(f"note {n}") for n in range(600)))  # beyond the first snapshot
        assert len(s.state.notes) == 600
        s.append(EventUndo(7))
        assert len(s.state.notes) == 599
        assert s.state.notes.find("note 6") is None
        assert len(hud.session("s").state.notes) == 599
        assert len(s.state_at(600).notes) == 600
        s.append(NoteAdd("after"))
        assert s.state_at(601) == fold(s.events(upto=601))
        assert s.state == fold(s.events())


def test_the_operation_takes_the_last_own_change_back() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.call("decisions.record", {"summary": "Use TLS"})
        s.append(TodoSync((TodoItem("t"),)), origin=Origin.HOST)
        answer = s.call("undo", {})
        assert "event 1, decision.record" in answer.text
        assert len(s.state.decisions) == 0
        assert len(s.state.todos) == 1
        s.call("undo", {"seq": answer.data["by"]})
        assert [one.summary for one in s.state.decisions] == ["Use TLS"]


def test_the_operation_refuses_what_cannot_be_undone() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        with pytest.raises(OperationError, match="no change of yours"):
            s.call("undo", {})
        s.append(CompactAfter("summary"), origin=Origin.HOST)
        s.append(DecisionRecord("a"))
        for seq, words in ((1, "only the host can"), (9, "there is no event 9")):
            with pytest.raises(OperationError, match=words):
                s.call("undo", {"seq": seq})
        s.call("undo", {"seq": 2})
        with pytest.raises(OperationError, match="undone already"):
            s.call("undo", {"seq": 2})
        assert s.state.seq == 3


def test_a_frame_tells_what_an_undo_took() -> None:
    with Hud.in_memory() as hud:
        s = hud.session("s")
        s.append(NoteAdd("first"))
        s.frame(used_tokens=1000, limit_tokens=200_000, transcript=[("a", "user")])
        s.append(DecisionRecord("Use TLS"))
        s.frame(used_tokens=1000, limit_tokens=200_000, transcript=[("a", "user"), ("b", "tool")])
        s.append(EventUndo(s.state.decisions[0].mark.seq))
        told = s.frame(
            used_tokens=1000, limit_tokens=200_000, transcript=[("a", "user"), ("b", "tool"), ("c", "tool")]
        )
        assert "decision withdrawn: Use TLS" in told.deltas[-1].text
