"""Every log that ships passes the same suite; SQLite's read-only side is here too."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit.errors import StoreError, StoreReadOnly
from hudkit.log import EventLog, Snapshot
from hudkit.log.stores import GroupCommit, MemoryLog, SqliteLog, open_log
from hudkit.testing.store_conformance import StoreConformance, note_drafts


class TestMemory(StoreConformance):
    def open_store(self) -> EventLog:
        return MemoryLog()


class TestSqlite(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "log.db"

    def open_store(self) -> EventLog:
        return SqliteLog.open(self.path)


class TestGroupOverSqlite(TestSqlite):
    def open_store(self) -> EventLog:
        return GroupCommit(SqliteLog.open(self.path))


class TestGroupOverMemory(StoreConformance):
    def open_store(self) -> EventLog:
        return GroupCommit(MemoryLog())


def test_read_only_reads_and_refuses_to_write(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    with SqliteLog.open(path) as writer:
        events = writer.append("s", note_drafts(3))
        writer.put_snapshot(Snapshot("s", 2, "1", b"x"))
        with SqliteLog.open(path, read_only=True) as reader:
            assert tuple(reader.read("s")) == events
            assert reader.get_snapshot("s", "1") == Snapshot("s", 2, "1", b"x")
            writer.append("s", note_drafts(1, 4))
            assert reader.last_seq("s") == 4
            assert list(reader.verify()) == []
            with pytest.raises(StoreReadOnly):
                reader.append("s", note_drafts(1))
            with pytest.raises(StoreReadOnly):
                reader.put_snapshot(Snapshot("s", 2, "1", b"x"))
    with SqliteLog.open(path, read_only=True) as reader:
        assert reader.last_seq("s") == 4


def test_read_only_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        SqliteLog.open(tmp_path / "absent.db", read_only=True)
    with pytest.raises(StoreError):
        SqliteLog.open(tmp_path / "nowhere" / "absent.db", read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_open_log_gives_either_store(tmp_path: Path) -> None:
    assert isinstance(open_log(None), MemoryLog)
    log = open_log(str(tmp_path / "log.db"))
    assert isinstance(log, SqliteLog)
    log.close()


def test_what_was_appended_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20 d.db"
    with SqliteLog.open(path) as log:
        events = log.append("s", note_drafts(5))
    with SqliteLog.open(path) as log:
        assert tuple(log.read("s")) == events
        assert log.append("s", note_drafts(1, 6), expected=5)[0].seq == 6
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a?b#c%20 d.db", "a?b#c%20 d.db.mark"]
