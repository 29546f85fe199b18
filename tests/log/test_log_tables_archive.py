"""Archived events: the file is smaller, and every promise of the log holds as before."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud
from hudkit.errors import StoreDamaged
from hudkit.log import payloads as p
from hudkit.log.stores import SqliteLog
from hudkit.sections.state import STATE_VERSION
from hudkit.testing.store_conformance import make_draft, note_drafts


def raw(path: Path, sql: str, *args: object) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path, isolation_level=None)
    try:
        return db.execute(sql, args).fetchall()
    finally:
        db.close()


@pytest.mark.slow
def test_state_frames_and_verify_are_as_before(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        frames = {}
        for n in range(300):
            session.append(p.NoteAdd(f"note {n}"), p.NoteRemove(f"n{n + 1}"))
            if n % 50 == 0:
                session.frame(transcript=[str(n)])
                frames[session.state.seq] = session.frame_at(session.state.seq)
        below = session.append(p.CompactAfter("so far"))[0].seq
        session.append(p.NoteAdd("after"))
        events = list(session.events())
        states = {seq: session.state_at(seq) for seq in (0, 5, 500, below, below + 1)}
        hud.log.rewrite()  # type: ignore[attr-defined]
        before = path.stat().st_size
        done = hud.log.archive("s", below)  # type: ignore[attr-defined]
        assert done.events == below - 1
        assert hud.log.archive("s", below).events == 0, "once is enough"  # type: ignore[attr-defined]
        assert hud.log.rewrite()  # type: ignore[attr-defined]
        assert path.stat().st_size < before
    assert raw(path, "SELECT count(*) FROM events WHERE body IS NOT NULL") == [(2,)]
    with Hud.open(path) as hud:
        session = hud.session("s")
        assert list(session.events()) == events
        assert list(hud.verify()) == []
        assert {seq: session.state_at(seq) for seq in states} == states
        assert {seq: session.frame_at(seq) for seq in frames} == frames
        session.append(p.EventUndo(2))
        assert [note.content for note in session.state.notes] == ["note 0", "after"], "folded from the first event on"
        hud.log.unarchive("s")  # type: ignore[attr-defined]
        assert list(hud.verify()) == []
    assert raw(path, "SELECT count(*) FROM archive") == [(0,)]
    assert raw(path, "SELECT count(*) FROM events WHERE body IS NULL") == [(0,)]


@pytest.mark.slow
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.sampled_from("ab"), st.integers(1, 40)),
            st.tuples(st.just("archive"), st.sampled_from("ab"), st.integers(0, 60)),
            st.tuples(st.just("restore"), st.sampled_from("ab"), st.just(0)),
            st.tuples(st.just("redact"), st.sampled_from("ab"), st.integers(1, 30)),
        ),
        max_size=12,
    )
)
@settings(deadline=None, max_examples=40)
def test_whatever_is_done_in_whatever_order(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    path = tmp_path_factory.mktemp("log") / "log.db"
    told: dict[str, list[object]] = {"a": [], "b": []}
    with SqliteLog.open(path) as log:
        for n, (what, name, number) in enumerate(steps):
            events = told[name]
            if what == "append":
                log.append(name, [make_draft(p.NoteAdd(f"{n} {k}"), n * 100 + k) for k in range(number)])
                events += [p.NoteAdd(f"{n} {k}") for k in range(number)]
            elif what == "archive":
                log.archive(name, number)
            elif what == "restore":
                log.unarchive(name)
            elif number <= len(events) and not isinstance(events[number - 1], p.Redact):
                log.append(name, [make_draft(p.Redact(number), n * 100 + 99)])
                events[number - 1] = None
                events.append(p.Redact(number))
            assert [event.payload for event in log.read(name)] == told[name]
        assert list(log.verify()) == []


def test_a_redacted_payload_is_in_no_chunk(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", [make_draft(p.NoteAdd(f"the vault, {n}"), n) for n in range(20)])
        log.archive("s", 15)
        log.append("s", [make_draft(p.Redact(3), 50)])
        log.rewrite()
        assert log.last_seq("s") == 21 and list(log.verify()) == []
    chunks = [zlib.decompress(body) for (body,) in raw(path, "SELECT body FROM archive")]  # type: ignore[arg-type]
    assert b"the vault, 3" in chunks[0] and b"the vault, 2" not in chunks[0]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM archive",
        "UPDATE archive SET body = x'00'",
        "UPDATE archive SET body = substr(body, 1, length(body) - 5)",
        "UPDATE archive SET first = first + 1",
        "UPDATE archive SET session_id = 'other'",
    ],
)
def test_what_was_taken_from_the_archive_is_noticed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(30))
        log.archive("s", 20)
    raw(path, damage)
    with SqliteLog.open(path) as log:
        (finding,) = log.verify()
        assert (finding.code, finding.session_id, finding.seq) == ("payload", "s", 1)
        with pytest.raises(StoreDamaged):
            list(log.read("s"))
        assert len(list(log.read("s", after=20))) == 10, "what is not archived can be read"


def test_a_chunk_that_unpacks_to_something_else_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(30))
        log.archive("s", 20)
    (chunk,) = raw(path, "SELECT body FROM archive")[0]
    other = zlib.compress(zlib.decompress(chunk).replace(b"note.add", b"note.odd"))  # type: ignore[arg-type]
    raw(path, "UPDATE archive SET body = ?", other)
    with SqliteLog.open(path) as log:
        assert [finding.code for finding in log.verify()] == ["payload"]


@pytest.mark.slow
def test_others_read_and_write_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log, SqliteLog.open(path) as other:
        log.append("s", note_drafts(600))
        reading = other.read("s")
        first = [next(reading) for _ in range(100)]
        log.archive("s", 550)
        rest = list(reading)
        other.append("s", note_drafts(5, 1000))
        log.unarchive("s")
        assert [event.seq for event in (*first, *rest)] == list(range(1, 601))
        assert list(log.verify()) == [] and other.last_seq("s") == 605


KILLED = """
import os, signal, sys
from hudkit.log.stores import SqliteLog, sqlite_log
log = SqliteLog.open(sys.argv[1])
archive_chunk, left = sqlite_log.archive_chunk, [int(sys.argv[2])]
def killed_after(*arguments):
    left[0] -= 1
    moved = archive_chunk(*arguments)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)  # moved, and not committed
    return moved
sqlite_log.archive_chunk = killed_after
log.archive("s", 900)
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", (1, 2, 3))
def test_what_is_killed_in_the_middle_is_whole(tmp_path: Path, step: int) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as log:
        log.append("s", note_drafts(1000))
    done = subprocess.run([sys.executable, "-c", KILLED, os.fspath(path), str(step)], check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    with SqliteLog.open(path) as log:
        assert list(log.verify()) == [] and len(list(log.read("s"))) == 1000
        assert log.archive("s", 900).events == 899 - 256 * (step - 1)
        assert list(log.verify()) == []


@pytest.mark.slow
def test_snapshots_hold_over_archived_events(tmp_path: Path) -> None:
    with Hud.open(tmp_path / "log.db") as hud:
        session = hud.session("s")
        session.append(*(p.FileEdit(f"src/{n}.py") for n in range(600)))
        hud.log.archive("s", 590)  # type: ignore[attr-defined]
        assert hud.log.get_snapshot("s", STATE_VERSION) is not None
        assert Hud(hud.log).session("s").state == session.state
