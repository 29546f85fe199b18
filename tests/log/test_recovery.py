"""Backups, restoring, repairing: what verifies is kept, what does not is named, no kill in between loses anything."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from threading import Event as Flag
from threading import Thread

import pytest

from campaigns import Campaign
from hudkit import Hud
from hudkit.agent import RequestLog, SessionStore
from hudkit.agent.databases import kind_of
from hudkit.agent.records import StoredProject
from hudkit.clock import uuid7
from hudkit.errors import ConfigError, StoreBusy, StoreDamaged, StoreError
from hudkit.log import Event
from hudkit.log.payloads import EventGap, NoteAdd, NoteRemove, Redact
from hudkit.log.stores import SqliteLog, verify_file
from hudkit.log.stores.recovery import back_up, backup_paths, repair, restore
from hudkit.log.stores.sqlite_files import companion_path
from hudkit.models import CompletionRequest
from hudkit.testing.store_conformance import make_draft, note_drafts

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("recovery_child.py")
FLIPS = Campaign("flips", quick=20, full=600)
KILLS = Campaign("recovery-kills", quick=9, full=120)

Events = Mapping[str, Mapping[int, Event]]


def fill(path: Path, count: int = 40) -> None:
    """Two sessions, with a long event that needs pages of its own, and a redaction."""
    with SqliteLog.open(path) as log:
        log.append("alpha", [make_draft(NoteAdd("alpha secret " * 5), 0)])
        log.append("alpha", [make_draft(Redact(1), 0)])
        for number in range(1, count + 1):
            size = 9_000 if number == 17 else 60
            log.append("alpha", [make_draft(NoteAdd(f"alpha {number} " + "x" * size), number)])
            log.append("beta", [make_draft(NoteAdd(f"beta {number} " + "y" * 60), number)])


def events_of(path: Path) -> Events:
    with SqliteLog.open(path, read_only=True) as log:
        return {name: {event.seq: event for event in log.read(name, past_damage=True)} for name in log.sessions()}


def missing(before: Events, after: Events) -> list[tuple[str, int]]:
    """Events that are not as they were."""
    return [
        (name, seq)
        for name, events in before.items()
        for seq in events
        if after.get(name, {}).get(seq) != events[seq]
    ]


def not_emptied(lost: list[tuple[str, int]], before: Events) -> list[tuple[str, int]]:
    """Those of the lost events whose payload a lost redaction had not taken away before."""
    redactions = [(name, before[name][seq].payload) for name, seq in lost]
    emptied = {(name, payload.seq) for name, payload in redactions if isinstance(payload, Redact)}
    return [one for one in lost if one not in emptied]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed log."""
    fill(tmp_path / "log.db")
    return tmp_path / "log.db"


def by_hand(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as db:
        assert db.execute(statement).rowcount > 0
    db.close()


# -- reading past damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "code", "was"),
    [
        ("UPDATE events SET body = CAST(replace(body, 'x', 'z') AS BLOB)", "payload", "note.add"),
        ("UPDATE events SET body = NULL", "payload", "note.add"),
        ("UPDATE events SET digest = zeroblob(32)", "payload", ""),
        ("UPDATE events SET link = zeroblob(32)", "chain", ""),
        ("UPDATE events SET turn = turn + 1", "chain", ""),
        ("DELETE FROM events", "gap", ""),
    ],
)
def test_reading_goes_past_one_damaged_event_and_loses_no_other(path: Path, edit: str, code: str, was: str) -> None:
    before = events_of(path)
    by_hand(path, f"{edit} WHERE session_id = 'alpha' AND seq = 7")
    after = events_of(path)
    assert missing(before, after) == [("alpha", 7)]
    gap = after["alpha"][7].payload
    assert isinstance(gap, EventGap) and (gap.code, gap.was, gap.damaged) == (code, was, True)
    with SqliteLog.open(path) as log:
        new = log.append("alpha", note_drafts(1, 99))
        assert [event.seq for event in log.read("alpha", after=6, past_damage=True)] == list(range(7, new[0].seq + 1))


def test_numbers_of_items_stay_where_one_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with Hud.open(path) as hud:
        session = hud.session("s")
        for text in ("one", "two", "three"):
            session.call("notes.add", {"content": text})
        session.append(NoteRemove("n3"))
    by_hand(path, "UPDATE events SET body = CAST(replace(body, 'two', 'owt') AS BLOB) WHERE seq = 2")
    for _ in range(2):
        with Hud.open(path) as hud:
            assert [note.content for note in hud.session("s").state.notes] == ["one"], "n3 is three, not two"
        repair(path, 1, uuid7)


# -- backups and restoring -------------------------------------------------------------------------------------


def test_a_backup_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    stop = Flag()
    fill(path)
    with SqliteLog.open(path) as log:

        def write() -> None:
            number = 100
            while not stop.is_set():
                number += 1
                log.append("alpha", [make_draft(NoteAdd(f"alpha {number}"), number)])
                log.append("beta", [make_draft(NoteAdd(f"beta {number}"), number)])

        thread = Thread(target=write)
        thread.start()
        try:
            for number in range(8):
                copy, _ = back_up(path, number)
                counts = {name: len(events) for name, events in events_of(copy).items()}
                assert counts["alpha"] - 2 - counts["beta"] in (0, 1)
                assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        finally:
            stop.set()
            thread.join()


def test_the_newest_backups_stay(path: Path) -> None:
    for number in range(1, 6):
        copy, removed = back_up(path, number * 1_000, keep=3)
        assert len(removed) == (number > 3)
    assert len(backup_paths(path)) == 3 and backup_paths(path)[-1] == copy
    elsewhere, removed = back_up(path, 9_000, target=path.with_name("mine.db"), keep=3)
    assert removed == [] and len(backup_paths(path)) == 3
    with pytest.raises(ConfigError, match="there is a file"):
        back_up(path, 9_000, target=elsewhere)


def test_a_damaged_log_pushes_no_backup_out(path: Path) -> None:
    back_up(path, 1, keep=1)
    by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 7")
    with pytest.raises(StoreDamaged, match="no backup was made"):
        back_up(path, 2, keep=1)
    assert len(backup_paths(path)) == 1 and not list(path.parent.glob("*.part-*"))


def test_with_the_clock_set_back_the_new_backup_stays(path: Path) -> None:
    for number in (50_000, 60_000):
        back_up(path, number)
    copy, removed = back_up(path, 1_000, keep=2)
    assert copy in backup_paths(path) and len(removed) == 1 and len(backup_paths(path)) == 2


def test_only_backups_are_rotated_and_only_what_a_backup_left_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "log[1].db"
    fill(path, 2)
    dead = 4_000_000  # no process has this number
    theirs = [
        companion_path(path, ".backup-ofZ"),
        companion_path(path, ".backup-20261332T250000Z"),
        companion_path(path, ".tar.part-4000000"),
        companion_path(path, ".part-4000000"),
        companion_path(path, ".part-99999999999999999999999"),
    ]
    for file in theirs:
        file.write_bytes(b"the user's own")
    left = companion_path(path, f".backup-20261123T010203.004Z.part-{dead}")
    left.write_bytes(path.read_bytes())
    companion_path(left, "-journal").write_bytes(b"\0")
    for number in (1, 2):
        back_up(path, number, keep=1)
    assert len(backup_paths(path)) == 1 and not left.exists() and not companion_path(left, "-journal").exists()
    assert [file for file in theirs if not file.exists()] == []
    elsewhere = tmp_path / "big"
    archive = tmp_path / f"big.part-{dead}"
    archive.write_bytes(b"part of an archive")
    back_up(path, 3, target=elsewhere)
    assert archive.exists()


def test_a_medium_that_knows_one_name_of_a_file_only_takes_a_backup(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory stick, say."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    target = path.with_name("stick.db")
    assert back_up(path, 1, target=target)[0] == target and events_of(target) == events_of(path)
    with pytest.raises(ConfigError, match="there is a file"):
        back_up(path, 1, target=target)


def test_a_backup_of_another_kind_does_not_take_a_logs_place(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    SessionStore.open(tmp_path / "sessions.db").close()
    copy, _ = back_up(tmp_path / "sessions.db", 1, kind=kind_of(tmp_path / "sessions.db")[1])
    with pytest.raises(StoreDamaged):
        restore(path, copy, 1)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["sessions.db", "requests.db"])
def test_the_agents_databases_are_backed_up_and_restored(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    contents: list[str] = []

    def write(text: str) -> None:
        contents.append(text)
        if name == "sessions.db":
            with SessionStore.open(path) as store:
                store.project(StoredProject(text, "/p", 1))
        else:
            requests = RequestLog(path)
            requests.add(text, "m", "model", 1, CompletionRequest((text,), ()))
            requests.close()

    def stored() -> list[str]:
        if name == "sessions.db":
            with SessionStore.open(path, read_only=True) as store:
                return [project.id for project in store.projects()]
        requests = RequestLog(path)
        found = [
            text for text in contents for request in requests.requests(text) if request.request.system == (text,)
        ]
        requests.close()
        return found

    write("one")
    kind_name, kind = kind_of(path)
    assert kind_name == name
    copy, _ = back_up(path, 1, keep=2, kind=kind)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600 and kind_of(copy)[0] == name
    write("two")
    before = restore(path, copy, 2, kind=kind)
    assert stored() == ["one"] and before is not None
    restore(path, before, 3, kind=kind)
    assert stored() == ["one", "two"]
    raw = bytearray(path.read_bytes())
    raw[4096:4200] = b"\xff" * 104
    path.write_bytes(bytes(raw))
    with pytest.raises(StoreDamaged, match="no backup was made"):
        back_up(path, 4, keep=1, kind=kind)
    assert backup_paths(path) == [copy]


def test_restoring_keeps_the_log_that_was_there(path: Path) -> None:
    copy, _ = back_up(path, 1)
    before = events_of(path)
    with SqliteLog.open(path) as log:
        log.append("gamma", note_drafts(3, 1))
    later = events_of(path)
    kept = restore(path, copy, 2)
    assert kept is not None and events_of(path) == before and list(verify_file(path)) == []
    assert restore(path, kept, 3) is not None
    assert events_of(path) == later and list(verify_file(path)) == []
    with SqliteLog.open(path) as log:
        assert log.append("gamma", note_drafts(1, 9)) and list(log.verify()) == []


def test_nothing_is_restored_or_repaired_while_another_process_has_the_log(path: Path) -> None:
    copy, _ = back_up(path, 1)
    by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 7")
    holder = f"import sqlite3; db = sqlite3.connect({str(path)!r}); db.execute('SELECT * FROM heads').fetchall(); "
    command = [sys.executable, "-c", holder + "print(1, flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline()
        for change in (lambda: restore(path, copy, 2), lambda: repair(path, 2, uuid7)):
            with pytest.raises(StoreBusy, match="in use"):
                change()
        assert not list(path.parent.glob("*.before-*")) and not list(path.parent.glob("*.part-*"))
        other.communicate(b"\n")
    assert repair(path, 3, uuid7).lost


def test_what_is_no_backup_is_not_restored(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    other = tmp_path / "other.db"
    other.write_bytes(b"not a database " * 1000)
    with pytest.raises(StoreError):
        restore(path, other, 1)
    by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 7")
    shutil.copy(path, other)
    path.write_bytes(before)
    with pytest.raises(StoreDamaged, match="does not verify"):
        restore(path, other, 1)
    assert path.read_bytes() == before and not list(path.parent.glob("*.part-*"))


# -- repairing -------------------------------------------------------------------------------------------------


def test_a_sound_log_is_not_touched(path: Path) -> None:
    before = path.read_bytes()
    assert repair(path, 1, uuid7).findings == ()
    assert path.read_bytes() == before


def test_a_repair_says_what_it_drops_and_keeps_the_old_log(path: Path) -> None:
    before, raw = events_of(path), path.read_bytes()
    by_hand(path, "DELETE FROM events WHERE session_id = 'alpha' AND seq IN (7, 8)")
    by_hand(path, "UPDATE events SET body = CAST('{}' AS BLOB) WHERE session_id = 'beta' AND seq = 40")
    dry = repair(path, 1, uuid7, dry_run=True)
    assert not dry.old_log and not list(path.parent.glob("*.before-*"))
    done = repair(path, 1, uuid7)
    assert [(lost.session, lost.seq) for lost in done.lost] == [("alpha", 7), ("alpha", 8), ("beta", 40)]
    assert dry.lost == done.lost and done.events == 79 and len(raw) == Path(done.old_log).stat().st_size
    after = events_of(path)
    assert missing(before, after) == [("alpha", 7), ("alpha", 8), ("beta", 40)]
    gaps = [after[lost.session][lost.seq].payload for lost in done.lost]
    assert all(isinstance(gap, EventGap) and not gap.damaged for gap in gaps)
    assert repair(path, 2, uuid7).findings == ()
    with SqliteLog.open(path) as log:
        assert log.append("beta", note_drafts(1, 99))[0].seq == 41 and list(log.verify()) == []


def test_archived_events_stay_in_the_archive(path: Path) -> None:
    before = events_of(path)
    with SqliteLog.open(path) as log:
        log.archive("alpha", 30)
    by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 12")
    assert [lost.seq for lost in repair(path, 1, uuid7).lost] == [12]
    assert missing(before, events_of(path)) == [("alpha", 12)]
    with SqliteLog.open(path) as log:
        assert log.archived()["alpha"][0] == 1


def test_a_trigger_goes_with_the_repair(path: Path) -> None:
    before = events_of(path)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events WHERE seq = 1; END")
    db.close()
    assert repair(path, 1, uuid7).lost == ()
    assert missing(before, events_of(path)) == [] and list(verify_file(path)) == []


def test_a_redacted_payload_does_not_come_back(path: Path) -> None:
    by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 7")
    repair(path, 1, uuid7)
    assert events_of(path)["alpha"][1].payload is None and b"alpha secret" not in path.read_bytes()


@pytest.mark.parametrize("seq", [1, 2], ids=["the event that was redacted", "the redaction"])
def test_a_redaction_that_is_damaged_is_repaired(path: Path, seq: int) -> None:
    before = events_of(path)
    by_hand(path, f"UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = {seq}")
    repair(path, 1, uuid7)
    assert list(verify_file(path)) == []
    assert missing(before, events_of(path)) == [("alpha", seq)]
    assert b"alpha secret" not in path.read_bytes()


def test_a_damaged_event_behind_a_lost_one_does_not_come_back_changed(path: Path) -> None:
    by_hand(path, "DELETE FROM events WHERE session_id = 'alpha' AND seq = 7")
    by_hand(
        path, "UPDATE events SET body = CAST(replace(body, 'x', 'z') AS BLOB) WHERE session_id = 'alpha' AND seq = 8"
    )
    report = repair(path, 1, uuid7)
    assert [(one.seq, one.code) for one in report.lost] == [(7, "gap"), (8, "chain")]
    assert isinstance(events_of(path)["alpha"][8].payload, EventGap) and not list(verify_file(path))


def test_where_a_redaction_is_damaged_what_it_took_away_is_told_as_lost_and_nothing_else(path: Path) -> None:
    before = events_of(path)
    payload = b'{"type":"redact","seq":1}'
    data = path.read_bytes()
    assert data.count(payload) == 1
    path.write_bytes(data.replace(payload, payload.replace(b"redact", b"r%dact")))
    report = repair(path, 1, uuid7)
    assert (
        [(one.session, one.seq) for one in report.lost]
        == missing(before, events_of(path))
        == [("alpha", 1), ("alpha", 2)]
    )
    assert list(verify_file(path)) == []


def flipped(data: bytes, chance: Random) -> bytes:
    changed = bytearray(data)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def answers(path: Path) -> bool:
    """Whether a session gives a frame, or the log says that it is damaged; nothing else may come."""
    try:
        with Hud.open(path) as hud:
            return bool(hud.session("alpha").frame(used_tokens=1_000, limit_tokens=200_000).text)
    except StoreDamaged:
        return False


@FLIPS
def test_after_a_flip_in_the_database_all_but_the_damaged_event_come_back(path: Path, tmp_path: Path) -> None:
    data, before, chance = path.read_bytes(), events_of(path), FLIPS.chance(1)
    found = answered = 0
    for number in range(FLIPS.rounds):
        copy = tmp_path / str(number) / "log.db"
        copy.parent.mkdir(mode=0o700)
        copy.write_bytes(flipped(data, chance))
        copy.chmod(0o600)
        shutil.copy(path.with_name("log.db.mark"), copy.parent)
        if not list(verify_file(copy)):
            assert missing(before, events_of(copy)) == [], "what is not found has changed nothing"
            continue
        found += 1
        report = repair(copy, 1, uuid7)
        lost = missing(before, events_of(copy))
        assert len(not_emptied(lost, before)) <= 1 and [(one.session, one.seq) for one in report.lost] == lost
        assert list(verify_file(copy)) == []
        # The damaged one again, to be used as it is.
        shutil.copy(report.old_log, copy)
        answered += answers(copy)
        shutil.rmtree(copy.parent)
    assert answered >= found * 9 // 10 > 0


@FLIPS
def test_after_a_flip_in_the_write_ahead_log_all_but_the_damaged_event_come_back(tmp_path: Path) -> None:
    chance = FLIPS.chance(2)
    source = tmp_path / "source"
    with SqliteLog.open(source / "log.db") as log:
        for number in range(1, 40):
            size = 9_000 if number == 17 else 10
            name = "alpha" if number % 3 else "beta"
            log.append(name, [make_draft(NoteAdd(f"event {number} " + "z" * size), number)])
        before = {name: {event.seq: event for event in log.read(name)} for name in log.sessions()}
        for number in range(FLIPS.rounds):
            copy = tmp_path / str(number) / "log.db"
            shutil.copytree(source, copy.parent)
            copy.with_name("log.db-shm").unlink()
            file = copy.with_name("log.db-wal")
            file.write_bytes(flipped(file.read_bytes(), chance))
            assert list(verify_file(copy)), "found before anything is opened"
            assert answers(copy)
            assert list(verify_file(copy)), "and from then on"
            assert len(missing(before, events_of(copy))) <= 1
            repair(copy, 1, uuid7)
            assert len(missing(before, events_of(copy))) <= 1 and list(verify_file(copy)) == []
            shutil.rmtree(copy.parent)


@FLIPS
def test_after_random_bytes_all_over_the_database_nothing_comes_back_changed(path: Path, tmp_path: Path) -> None:
    data, before, chance = path.read_bytes(), events_of(path), FLIPS.chance(4)
    back = 0
    for number in range(FLIPS.rounds):
        copy = tmp_path / str(number) / "log.db"
        copy.parent.mkdir(mode=0o700)
        body = bytearray(data)
        for _ in range(30):
            start = chance.randrange(4_096, len(body) - 64)
            body[start : start + 64] = chance.randbytes(64)
        copy.write_bytes(body)
        copy.chmod(0o600)
        report = repair(copy, 1, uuid7)
        after, lost = events_of(copy), {(one.session, one.seq) for one in report.lost}
        assert list(verify_file(copy)) == []
        assert {where for where in missing(before, after) if where[1] in after.get(where[0], {})} <= lost
        back += sum(len(events) for events in after.values()) - len(lost)
        shutil.rmtree(copy.parent)
    assert back > 50 * FLIPS.rounds, "of 82 events"


@FLIPS
def test_a_flip_in_the_mark_takes_nothing_away(path: Path, tmp_path: Path) -> None:
    chance, before, mark = FLIPS.chance(3), events_of(path), path.with_name("log.db.mark")
    whole = mark.read_bytes()
    for _ in range(FLIPS.rounds):
        mark.write_bytes(flipped(whole, chance))
        assert list(verify_file(path)) and answers(path)
        repair(path, 1, uuid7)
        assert missing(before, events_of(path)) == [] and list(verify_file(path)) == []
        with SqliteLog.open(path):
            pass
        whole = mark.read_bytes()
    for file in tmp_path.glob("*.before-*"):
        file.unlink()


# -- kills -----------------------------------------------------------------------------------------------------


@KILLS
@pytest.mark.parametrize("operation", ["backup", "restore", "repair"])
def test_a_kill_in_the_middle_loses_nothing(operation: str, path: Path) -> None:
    chance = KILLS.chance(len(operation))
    backup = path.with_name("source.db")
    if operation == "repair":
        by_hand(path, "UPDATE events SET turn = 9 WHERE session_id = 'alpha' AND seq = 7")
    shutil.copy(path, backup)
    before = events_of(path)
    before = {name: {seq: one for seq, one in events.items() if one.id} for name, events in before.items()}
    for _ in range(KILLS.rounds // 3 + 1):
        command = [sys.executable, str(CHILD), operation, str(path), str(backup)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(chance.random() * 0.08)
            os.kill(child.pid, signal.SIGKILL)
        assert missing(before, events_of(path)) == [], "the log is there and whole, the old one or the new one"
        for copy in backup_paths(path):
            assert list(verify_file(copy)) == [] and missing(before, events_of(copy)) == []
    if operation == "repair":
        repair(path, 10**9, uuid7)
    assert list(verify_file(path)) == []
    back_up(path, 10**9, keep=1)
    assert [file for file in path.parent.glob("*.part-*") if file.name.startswith("log.db")] == []
