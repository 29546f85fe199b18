"""The table of what survives in the README: each of its rows is a test here."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.api import Hud, HudSession
from hudkit.log import Origin
from hudkit.log import payloads as p

README = Path(__file__).parents[1] / "README.md"

Row = Callable[[HudSession], None]
ROWS: dict[str, Row] = {}


def row(name: str) -> Callable[[Row], Row]:
    """The test of the table's row with this first cell."""

    def note(test: Row) -> Row:
        ROWS[name] = test
        return test

    return note


def compacted(session: HudSession, times: int = 5, summary: str = "Work went on.") -> None:
    """Compactions as a host tells of them, with a call between."""
    for _ in range(times):
        session.append(p.CompactBefore("auto"), origin=Origin.HOST)
        session.append(p.CompactAfter(summary), origin=Origin.HOST)
        session.frame(used_tokens=20_000, limit_tokens=200_000)


def calm(session: HudSession) -> str:
    return session.frame(used_tokens=20_000, limit_tokens=200_000, budget=1_500).text


def pressed(session: HudSession) -> str:
    return session.frame(used_tokens=190_000, limit_tokens=200_000).text


def listed() -> list[tuple[str, ...]]:
    """The rows of the table under "What survives", by cell."""
    table = README.read_text("utf-8").partition("\n## What survives\n")[2].partition("\nEach row")[0]
    found = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| |")]
    return [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in found]


@row("task")
def _task(session: HudSession) -> None:
    session.call("task.set", {"description": "Serve the kettle's temperature"})
    compacted(session)
    assert "Serve the kettle's temperature" in calm(session)
    assert "Serve the kettle's temperature" in pressed(session)


KINDS = {
    "constraints": ("constraints.add", "text", "Never touch {}"),
    "preferences": ("preferences.add", "text", "Likes {}"),
    "decisions": ("decisions.record", "summary", "Took {}"),
    "notes": ("notes.add", "content", "Saw {}"),
    "steps": ("steps.add", "description", "Build {}"),
    "blockers": ("blockers.add", "description", "No key for {}"),
    "errors": ("errors.report", "message", "{} timed out"),
}


@row("constraints, preferences, decisions, notes, steps, blockers, open errors")
def _items(session: HudSession) -> None:
    for operation, name, words in KINDS.values():
        for n in range(9):
            session.call(operation, {name: words.format(f"part {n}")})
    before = {kind: getattr(session.state, kind) for kind in KINDS}
    compacted(session)
    assert {kind: getattr(session.state, kind) for kind in KINDS} == before
    shown = session.frame(used_tokens=20_000, limit_tokens=200_000, budget=300)
    assert re.search(r"\d+( more)?: (\w+\.list|hud snapshot)", shown.text)
    for operation, _, words in KINDS.values():
        said = session.call(operation.partition(".")[0] + ".list").text
        assert all(words.format(f"part {n}") in said for n in range(9)), operation


@row("what was superseded, removed or done")
def _superseded(session: HudSession) -> None:
    session.call("decisions.record", {"summary": "Keep readings in a list"})
    session.call("decisions.record", {"summary": "Keep readings in a heap", "supersedes": "Keep readings in a list"})
    session.call("constraints.add", {"text": "Stay on port 80"})
    session.call("constraints.remove", {"id": "Stay on port 80"})
    session.call("notes.add", {"content": "The lid leaks"})
    session.call("notes.remove", {"id": "The lid leaks"})
    for _ in range(5):
        compacted(session, 1, "We keep readings in a heap.")
        for text in (calm(session), pressed(session)):
            assert not re.search("in a list|port 80|lid leaks", text)
    assert "in a heap" in calm(session)


@row("edited files")
def _edited(session: HudSession) -> None:
    session.append(p.FileEdit("src/kettle.py"), origin=Origin.TOOL)
    compacted(session)
    assert "src/kettle.py" in calm(session)


@row("files only read")
def _read(session: HudSession) -> None:
    session.append(p.FileOpen("docs/old.md"), origin=Origin.TOOL)
    compacted(session, 1)
    assert "docs/old.md" in calm(session)
    compacted(session, 1)
    assert "docs/old.md" not in calm(session)


@row("todos of the host")
def _todos(session: HudSession) -> None:
    session.append(p.TodoSync((p.TodoItem("Descale it", "in_progress"),)), origin=Origin.HOST)
    compacted(session)
    assert "Descale it" in calm(session)
    session.append(p.TodoSync(()), origin=Origin.HOST)
    assert "Descale it" not in session.whole_frame().text


@row("the host's summary")
def _summary(session: HudSession) -> None:
    compacted(session, 1, "The old summary spoke of valves.")
    compacted(session, 1, "The pump is fitted.")
    text = calm(session)
    assert "The pump is fitted." in text
    assert "valves" not in text


@row("usage")
def _usage(session: HudSession) -> None:
    assert "10%" in session.frame(used_tokens=20_000, limit_tokens=200_000).tail
    session.append(p.CompactBefore("auto"), origin=Origin.HOST)
    session.append(p.CompactAfter("Short."), origin=Origin.HOST)
    assert "unknown" in session.frame(limit_tokens=200_000).tail
    assert "15%" in session.frame(used_tokens=30_000, limit_tokens=200_000).tail


def test_the_table_has_these_rows() -> None:
    assert [cells[0] for cells in listed()] == list(ROWS)


@pytest.mark.parametrize("name", list(ROWS))
def test_what_a_row_says(name: str) -> None:
    ROWS[name](Hud.in_memory().session("s", project="/srv/kettle"))
