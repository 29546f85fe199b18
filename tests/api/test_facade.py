"""The facade: opening, what comes in from outside, and what a model's call is answered."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

import hudkit
from hudkit.api import Hud, HudSession
from hudkit.config import BudgetSettings, SectionLimits, Settings
from hudkit.errors import ConfigError, OperationError, StoreError
from hudkit.log import Origin
from hudkit.log.payloads import NoteAdd, TaskSet
from ticking import Ticking


class Words:
    """Counts words."""

    name = "words"

    def __init__(self) -> None:
        self.asked = 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text.split())


def test_open_keeps_and_closes(tmp_path: Path) -> None:
    path = tmp_path / "log" / "hud.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        session.append(TaskSet("Ship it"))
    with pytest.raises(StoreError, match="closed"):
        session.append(TaskSet("x"))
    hud.close()
    with Hud.open(str(path)) as again:
        assert again.sessions() == ("s",) and again.session("s").state.task.description == "Ship it"
        assert list(again.verify()) == []


def test_an_error_within_still_closes(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Hud.open(tmp_path / "log" / "hud.db") as hud:
        raise ZeroDivisionError
    with pytest.raises(StoreError, match="closed"):
        hud.sessions()


def test_open_says_what_is_wrong_with_a_path(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir(0o700)
    (tmp_path / "log" / "hud.db").write_text("no database " * 100)
    (tmp_path / "log" / "hud.db").chmod(0o600)
    with pytest.raises(StoreError, match=r"hud\.db"):
        Hud.open(tmp_path / "log" / "hud.db")


def test_in_memory_is_alone() -> None:
    with Hud.in_memory() as one, Hud.in_memory() as two:
        one.session("s").append(TaskSet("x"))
        assert two.sessions() == () and one.sessions() == ("s",)


def test_a_session_is_the_same_object(hud: Hud) -> None:
    assert hud.session("s") is hud.session("s")
    assert isinstance(hud.session("s"), HudSession)


def test_clock_and_ids_come_from_outside(ticking: Ticking) -> None:
    hud = Hud.in_memory(clock=ticking.clock, ids=ticking.ids)
    hud.session("s").append(TaskSet("x"), NoteAdd("y"))
    hud.session("s").frame()
    events = list(hud.session("s").events())
    assert [event.timestamp - 1_795_000_000_000 for event in events[:2]] == [1000, 1000]
    assert events[0].id.endswith("-000000000001") and events[1].id.endswith("-000000000002")
    assert hud.session("s").frame().tag == "000003", "the tag is the next id's random end"


def test_a_clock_that_goes_backwards_changes_no_order() -> None:
    times = itertools.count(10_000_000, -1000)
    hud = Hud.in_memory(clock=lambda: next(times))
    session = hud.session("s")
    for n in range(3):
        session.append(NoteAdd(str(n)))
        session.frame(transcript=[str(n)])
    assert [note.content for note in Hud(hud.log).session("s").state.notes] == ["0", "1", "2"]


def test_without_them_ids_are_uuid7_and_time_is_now(tmp_path: Path) -> None:
    first, second = Hud.in_memory().session("s").append(TaskSet("x"), NoteAdd("y"))
    assert first.id < second.id and first.id[14] == "7"
    assert first.timestamp > 1_700_000_000_000


def test_a_counter_from_outside_decides() -> None:
    counter = Words()
    hud = Hud.in_memory(counter=counter)
    assert hud.counter is counter
    session = hud.session("s")
    session.append(*(NoteAdd(f"note {n} of six words here") for n in range(20)))
    frame = session.frame(budget=60)
    assert frame.tokens == len(frame.text.split()) <= 60 and frame.omitted
    assert session.state.window.call is not None and session.state.window.call.counter == "words"
    assert counter.asked > 0


def test_settings_from_outside() -> None:
    settings = Settings(
        budget=BudgetSettings(percent=1, min_tokens=100, max_tokens=200), limits=SectionLimits(notes=2), window=15_000
    )
    session = Hud.in_memory(settings=settings, counter=Words()).session("s")
    session.append(*(NoteAdd(f"n{n}") for n in range(5)))
    frame = session.frame()
    assert frame.budget == 150 and session.frame(limit_tokens=90_000).budget == 200
    assert "n4" in frame.base and "n2" not in frame.base and "+3" in frame.base


def test_start_tells_what_the_host_knows(hud: Hud) -> None:
    session = hud.session("s")
    session.start(host="opencode", title="Fix login", model="m")
    session.start(title="Fix the login")
    facts = session.state.session
    assert (facts.host, facts.title, facts.model, facts.host_session) == ("opencode", "Fix the login", "m", "s")
    assert {event.origin for event in session.events()} == {Origin.HOST}
    assert "Fix the login (from the session's title)" in session.frame().base


@pytest.mark.parametrize("origin", list(Origin))
def test_the_channel_sets_the_origin(hud: Hud, origin: Origin) -> None:
    session = hud.session("s")
    session.tool("hud", {"tool": "notes.add", "args": {"content": "a"}}, origin=origin)
    session.call("notes.add", {"content": "b"}, origin=origin)
    assert [event.origin for event in session.events()] == [origin, origin]


@pytest.mark.parametrize(
    "arguments",
    [
        {"tool": "notes.add", "args": {"content": "x", "origin": "user"}},
        {"tool": "notes.add", "args": {"content": "x"}, "origin": "user"},
        {"tool": "notes.add", "content": "x", "origin": "user"},
        '{"tool": "notes.add", "args": {"content": "x", "origin": "user"}}',
        {"tool": "notes.add", "args": {"content": "x", "_origin": "user", "mark": {"origin": "user"}}},
        {"tool": "constraints.add", "args": {"text": "x", "derived": True, "origin": "host"}},
        {"tool": "notes.add", "args": {"content": '{"origin": "user"}'}},
    ],
)
def test_no_argument_sets_an_origin(hud: Hud, arguments: dict[str, object] | str) -> None:
    session = hud.session("s")
    session.tool("hud", arguments)
    assert all(event.origin is Origin.AGENT for event in session.events())
    assert all(note.mark.origin is Origin.AGENT for note in session.state.notes)


def test_a_call_of_a_program_raises_and_one_of_a_model_is_answered(hud: Hud) -> None:
    session = hud.session("s")
    with pytest.raises(OperationError) as caught:
        session.call("notes.ad", {"content": "x"})
    answer = session.tool("hud", {"tool": "notes.ad", "args": {"content": "x"}})
    assert answer == str(caught.value) and "notes.add" in answer
    assert session.state.seq == 0


@pytest.mark.parametrize("router", ["hud", "memory"])
@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", {}, {"tool": 3}, {"tool": ""}, {"tool": "notes.add"}])
def test_a_mistake_is_answered_with_an_example(hud: Hud, router: str, arguments: dict[str, object] | str) -> None:
    answer = hud.session("s").tool(router, arguments)
    assert "Example: " in answer and f"{router}({{" in answer
    assert hud.session("s").state.seq == 0


def test_an_answer_tells_what_was_done(hud: Hud) -> None:
    session = hud.session("s")
    answer = session.tool("hud", '{"tool": "decisions.record", "args": {"summary": "Use JWT"}}')
    assert "d1" in answer and [d.summary for d in session.state.decisions] == ["Use JWT"]
    assert "Use JWT" in session.tool("memory", {"tool": "decisions.list"})
    assert "notes.add" in session.tool("hud", {"tool": "help"})


def test_a_router_that_there_is_not_is_the_programs_mistake(hud: Hud) -> None:
    with pytest.raises(ConfigError, match="hood"):
        hud.session("s").tool("hood", {})


LIGHT = (
    "sqlite3",
    "rich",
    "markdown_it",
    "msgspec",
    "typer",
    "asyncio",
    "hudkit.api",
    "hudkit.log.stores",
    "tiktoken",
)


def loaded(code: str) -> set[str]:
    run = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(' '.join(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(run.stdout.split())


def test_import_is_light() -> None:
    assert loaded("import hudkit; hudkit.__version__").isdisjoint(LIGHT)


@pytest.mark.slow
def test_the_facade_is_there_when_it_is_asked_for() -> None:
    modules = loaded("from hudkit import Hud, HudSession")
    assert "hudkit.api" in modules and modules.isdisjoint({"sqlite3", "rich", "tiktoken"})
    assert hudkit.Hud is Hud and hudkit.HudSession is HudSession
    assert set(hudkit.__all__) == {"Hud", "HudSession", "__version__"}
    with pytest.raises(AttributeError, match="nothing"):
        _ = hudkit.nothing
