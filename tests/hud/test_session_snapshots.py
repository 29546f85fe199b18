"""Saved projections and redactions: a reopened log gives the same state, from a snapshot and the tail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hudkit.api import Hud, HudSession
from hudkit.hud.session_core import SNAPSHOT_EVERY
from hudkit.log import Event, EventLog, Origin, Snapshot
from hudkit.log.payloads import DecisionRecord, FileEdit, NoteAdd, NoteRemove, NoteUpdate, Redact, TaskSet
from hudkit.log.stores import open_log
from hudkit.sections.state import STATE_VERSION, encode_state, fold


class Counted:
    """A log that counts the events that are read."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.events = 0

    def read(self, session_id: str, **options: Any) -> Iterator[Event]:
        for event in self._log.read(session_id, **options):
            self.events += 1
            yield event

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def fill(session: HudSession, count: int, batch: int = 25) -> None:
    """That many events, in batches."""
    for start in range(0, count, batch):
        session.append(*(FileEdit(f"src/{n % 30}.py") for n in range(start, min(start + batch, count))))


def reread(log: EventLog) -> tuple[HudSession, Counted]:
    counted = Counted(log)
    return Hud(counted).session("s"), counted


@pytest.mark.slow
def test_a_reopened_log_reads_the_tail_only(tmp_path: Path) -> None:
    path = tmp_path / "log" / "hud.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        session.append(TaskSet("Ship it"), DecisionRecord("JWT"), NoteAdd("a"))
        fill(session, SNAPSHOT_EVERY)
        session.append(NoteUpdate("n1", "b"))
        state = session.state
    log = open_log(path)
    again, counted = reread(log)
    assert again.state == state and 0 < counted.events < 30
    assert again.state == fold(log.read("s"))
    log.close()


def test_below_the_first_snapshot_everything_is_read(hud: Hud) -> None:
    fill(hud.session("s"), SNAPSHOT_EVERY - 1)
    again, counted = reread(hud.log)
    assert again.state == hud.session("s").state and counted.events == SNAPSHOT_EVERY - 1


def test_a_reader_of_a_long_log_saves_a_snapshot_too(hud: Hud) -> None:
    writer = hud.session("s")
    drafts = writer.drafts([NoteAdd(f"note {n}") for n in range(SNAPSHOT_EVERY + 5)], Origin.AGENT, 0)
    hud.log.append("s", drafts)
    first, counted = reread(hud.log)
    assert len(first.state.notes) == SNAPSHOT_EVERY + 5 and counted.events == SNAPSHOT_EVERY + 5
    second, counted = reread(hud.log)
    assert second.state == first.state and counted.events == 0


def test_a_past_state_starts_from_the_snapshot_before_it(hud: Hud) -> None:
    fill(hud.session("s"), SNAPSHOT_EVERY + 40)
    again, counted = reread(hud.log)
    assert again.state_at(SNAPSHOT_EVERY + 10) == fold(hud.log.read("s", upto=SNAPSHOT_EVERY + 10))
    assert counted.events == 10
    assert again.state_at(7) == fold(hud.log.read("s", upto=7))
    assert counted.events == 17


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"seq": "x"}', b"\xff\xfe"])
def test_a_snapshot_that_cannot_be_read_is_passed_over(hud: Hud, body: bytes) -> None:
    session = hud.session("s")
    session.append(TaskSet("Ship it"), NoteAdd("a"))
    hud.log.put_snapshot(Snapshot("s", 2, STATE_VERSION, body))
    again, counted = reread(hud.log)
    assert again.state == session.state and counted.events == 2


def test_a_snapshot_of_another_version_is_not_read(hud: Hud) -> None:
    session = hud.session("s")
    session.append(TaskSet("Ship it"))
    wrong = fold(hud.session("other").events())
    hud.log.put_snapshot(Snapshot("s", 1, "0-old", encode_state(wrong)))
    again, _ = reread(hud.log)
    assert again.state.task.description == "Ship it"


@pytest.mark.slow
def test_a_log_that_takes_no_snapshots_is_good_enough(tmp_path: Path) -> None:
    path = tmp_path / "log" / "hud.db"
    with Hud.open(path) as hud:
        hud.log.append("s", hud.session("s").drafts([NoteAdd(f"{n}") for n in range(600)], Origin.AGENT, 0))
    with Hud(open_log(path, read_only=True)) as reader:
        assert len(reader.session("s").state.notes) == 600


@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_redaction_refolds(where: str, tmp_path: Path) -> None:
    with Hud.in_memory() if where == "memory" else Hud.open(tmp_path / "log" / "hud.db") as hud:
        session, other = hud.session("s"), Hud(hud.log).session("s")
        session.append(TaskSet("Ship it"), NoteAdd("the secret"), NoteAdd("kept"))
        assert len(other.state.notes) == 2
        session.append(Redact(2, "a key"))
        for one in (session, other, Hud(hud.log).session("s")):
            assert [note.content for note in one.state.notes] == ["kept"]
            assert one.state.seq == 4 and one.state == fold(hud.log.read("s"))
            assert [note.content for note in one.state_at(3).notes] == ["kept"]
        assert [event.payload for event in session.events(1, 2)] == [None]
        assert list(hud.verify()) == []


@pytest.mark.slow
def test_a_redaction_before_a_snapshot_takes_it_away(hud: Hud) -> None:
    session = hud.session("s")
    session.append(NoteAdd("the secret"))
    fill(session, SNAPSHOT_EVERY + 10)
    assert hud.log.get_snapshot("s", STATE_VERSION) is not None
    session.append(Redact(1))
    assert len(session.state.notes) == 0 and session.state == fold(hud.log.read("s"))
    again, _ = reread(hud.log)
    assert again.state == session.state
    saved = hud.log.get_snapshot("s", STATE_VERSION)
    assert saved is None or b"secret" not in saved.body


def test_the_frame_after_a_redaction_tells_that_the_item_is_gone(hud: Hud) -> None:
    session = hud.session("s")
    session.append(NoteAdd("kept"))
    session.frame(transcript=["a"])
    at = session.append(NoteAdd("the secret"))[0].seq
    assert "the secret" in session.frame(transcript=["a", "b"]).text
    session.append(NoteRemove("n1"))
    session.frame(transcript=["a", "b", "c"])
    session.append(Redact(at))
    assert session.state.notes.items == ()
    assert "removed: the secret" not in session.frame(transcript=["a", "b", "c", "d"]).text
    fresh = Hud(hud.log).session("s")
    assert fresh.frame(transcript=["a", "b", "c", "d"]) == session.frame(transcript=["a", "b", "c", "d"])
