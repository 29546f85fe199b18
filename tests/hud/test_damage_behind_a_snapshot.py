"""Damage in an event that a saved state stands for: no fold comes across it, and it is told all the same, once it was
looked for; the state is as it was."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.cli import main
from hudkit.clock import uuid7
from hudkit.log.stores.recovery import repair

pytestmark = pytest.mark.slow

LINE = "event 70 is damaged and left out; to mend the log: hudkit repair"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log whose saved state holds a note of a damaged event."""
    path = tmp_path / "data" / "hudkit.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        for number in range(1, 600):
            session.call(
                "notes.add" if number == 70 else "errors.add",
                {"content" if number == 70 else "message": f"x {number}"},
            )
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM snapshots").fetchone()[0]
        db.execute("UPDATE events SET body = CAST(replace(body, 'x 70', 'y 70') AS BLOB) WHERE seq = 70")
    db.close()
    return path


def tails(path: Path, calls: int) -> list[str]:
    with Hud.open(path) as hud:
        session = hud.session("s")
        assert [note.content for note in session.state.notes] in (["x 70"], [])
        return [session.frame(used_tokens=1_000, limit_tokens=200_000).tail for _ in range(calls)]


def test_it_is_told_after_some_calls_and_from_then_on(path: Path) -> None:
    told = [LINE in tail for tail in tails(path, 12)]
    assert told[-1] and not told[0], "a part of the log is read with each call"
    assert [LINE in tail for tail in tails(path, 1)] == [True], "the log itself says so now"
    with Hud.open(path) as hud:
        session = hud.session("s")
        assert session.state.gaps.count == 1 and [note.content for note in session.state.notes] == ["x 70"]
        gaps = [event for event in session.events(0) if event.type == "event.gap" and event.id]
        assert len(gaps) == 1, "said once"


def test_where_the_host_keeps_our_texts_it_is_told_once(path: Path) -> None:
    """There is no tail; a block stays where it was put."""
    with Hud.open(path) as hud:
        session = hud.session("s")
        frames = [
            session.frame(used_tokens=1_000, limit_tokens=200_000, placement="kept", budget=2_000) for _ in range(14)
        ]
    told = [delta.text for delta in frames[-1].deltas if LINE in delta.text]
    assert len(told) == 1 and told[0].startswith("[hud ")


def test_show_tells_it_at_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--db", str(path)]) == 1
    assert "left out: event 70; to mend it: hudkit repair" in capsys.readouterr().err


def test_a_repair_settles_it(path: Path) -> None:
    tails(path, 12)
    assert [one.seq for one in repair(path, 1, uuid7).lost] == [70]
    assert not any("damaged" in tail for tail in tails(path, 12))
    assert main(["show", "--db", str(path)]) == 0
