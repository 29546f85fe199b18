"""Arguments out of range: each is a `ConfigError` that names it, and nothing is recorded."""

from __future__ import annotations

import pytest

from hudkit.api import Hud
from hudkit.errors import BudgetError, ConfigError, SequenceConflict
from hudkit.log import Origin
from hudkit.log.payloads import NoteAdd, TaskSet

BAD: list[tuple[str, object, str]] = [
    ("used_tokens", -1, "from 0"),
    ("used_tokens", True, "from 0"),
    ("used_tokens", 1.0, "from 0"),
    ("used_tokens", "5", "from 0"),
    ("limit_tokens", 0, "from 1"),
    ("limit_tokens", -200_000, "from 1"),
    ("limit_tokens", float("nan"), "from 1"),
    ("budget", 0, "from 1"),
    ("budget", -1, "from 1"),
    ("budget", 300.0, "from 1"),
    ("budget", False, "from 1"),
    ("density", "huge", "full, compact, minimal"),
    ("density", "", "full, compact, minimal"),
    ("density", 3, "full, compact, minimal"),
    ("placement", "nowhere", "anchored, system"),
    ("placement", "", "anchored, system"),
    ("placement", None, "anchored, system"),
    ("transcript", [3], "anchor"),
    ("transcript", [("a", "user", "x")], "anchor"),
]


@pytest.mark.parametrize(("name", "value", "hint"), BAD, ids=[f"{name}={value!r}" for name, value, _ in BAD])
def test_a_bad_argument(hud: Hud, name: str, value: object, hint: str) -> None:
    session = hud.session("s")
    with pytest.raises(ConfigError) as caught:
        session.frame(**{name: value})  # type: ignore[arg-type]
    assert name in caught.value.message and hint in caught.value.hint
    assert session.state.seq == 0


@pytest.mark.parametrize(
    "arguments", [{"used_tokens": 0}, {"limit_tokens": 1}, {"density": "full"}, {"transcript": ()}]
)
def test_the_edge_of_what_is_right(hud: Hud, arguments: dict[str, object]) -> None:
    assert hud.session("s").frame(**arguments).text  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["", "a" * 401, "a\0b", "日" * 200, "a\ud800"])
def test_a_session_id_that_cannot_be_used(hud: Hud, id: str) -> None:
    with pytest.raises(ConfigError, match="session id"):
        hud.session(id)


@pytest.mark.parametrize("id", ["a", "a" * 256, "ses_1", "日本", "a b", "a/b@c"])
def test_a_session_id_that_can_be_used(hud: Hud, id: str) -> None:
    session = hud.session(id)
    session.append(TaskSet("x"))
    assert hud.sessions() == (session.id,) and hud.session(id) is session


@pytest.mark.parametrize("seq", [-1, 4, 1000])
def test_an_event_that_is_not_there(hud: Hud, seq: int) -> None:
    session = hud.session("s")
    session.append(NoteAdd("a"), NoteAdd("b"), NoteAdd("c"))
    for look in (session.state_at, session.frame_at, Hud(hud.log).session("s").state_at):
        with pytest.raises(ConfigError, match=f"no event {seq}") as caught:
            look(seq)
        assert "0 to 3" in caught.value.hint


def test_a_budget_that_nothing_fits_records_nothing(hud: Hud) -> None:
    session = hud.session("s")
    session.append(TaskSet("Ship it"))
    with pytest.raises(BudgetError) as caught:
        session.frame(budget=1)
    details = caught.value.details
    assert details["limit"] == 1 and details["need"] > 1 and details["path"] and details["tree"]  # type: ignore[operator]
    assert session.state.seq == 1
    assert session.frame(budget=details["need"]).tokens <= details["need"]  # type: ignore[arg-type, operator]


def test_state_at_every_event(hud: Hud) -> None:
    session = hud.session("s")
    session.append(NoteAdd("a"), NoteAdd("b"))
    session.append(NoteAdd("c"))
    assert [len(session.state_at(n).notes) for n in range(4)] == [0, 1, 2, 3]
    assert [session.state_at(n).seq for n in range(4)] == [0, 1, 2, 3]
    assert session.state_at(3) == session.state


def test_frame_at_between_calls_is_what_a_call_would_have_got(hud: Hud) -> None:
    session = hud.session("s")
    assert "none set" in session.frame_at(0).text
    session.append(TaskSet("Ship it"))
    sent = session.frame(1000, 200_000, budget=400, density="compact")
    at = session.state.seq
    session.append(NoteAdd("later"))
    assert session.frame_at(at) == sent
    between = session.frame_at(at + 1)
    assert (between.budget, between.density, between.base) == (400, "compact", sent.base)
    assert "later" in between.text
    assert "Ship it" in session.frame_at(1).base
    assert session.state.seq == at + 1, "looking records nothing"


def test_events_after_and_upto(hud: Hud) -> None:
    session = hud.session("s")
    session.append(*(NoteAdd(str(n)) for n in range(5)))
    assert [event.seq for event in session.events()] == [1, 2, 3, 4, 5]
    assert [event.seq for event in session.events(after=1, upto=3)] == [2, 3]
    assert list(session.events(after=5)) == [] and list(hud.session("other").events()) == []


def test_append_gives_the_events_as_stored(hud: Hud) -> None:
    session = hud.session("s")
    assert session.append() == ()
    session.append(TaskSet("x"))
    stored = session.append(NoteAdd("a"), NoteAdd("b"), origin=Origin.TOOL, turn=7)
    assert stored == tuple(session.events(after=1))
    assert [(event.seq, event.turn, event.origin) for event in stored] == [(2, 7, Origin.TOOL), (3, 7, Origin.TOOL)]
    session.frame()
    session.frame(5, 10_000)
    assert session.append(NoteAdd("c"))[0].turn == 2, "the turn is the number of calls"


def test_append_with_an_expectation(hud: Hud) -> None:
    session = hud.session("s")
    session.append(NoteAdd("a"), expected=0)
    with pytest.raises(SequenceConflict) as caught:
        session.append(NoteAdd("b"), NoteAdd("c"), expected=0)
    assert (caught.value.details["expected"], caught.value.details["actual"]) == (0, 1)
    assert len(session.state.notes) == 1 and hud.log.last_seq("s") == 1
