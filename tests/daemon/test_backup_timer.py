"""A daemon backs its databases up in time: when, which, and what a failure costs the others."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from hudkit.config import BackupSettings
from hudkit.daemon.backup_timer import back_up_in_time
from hudkit.log.payloads import NoteAdd
from hudkit.log.stores import SqliteLog, verify_file
from hudkit.log.stores.recovery import LOG, DatabaseKind, backup_paths, backup_time
from hudkit.testing.store_conformance import make_draft

pytestmark = pytest.mark.slow

MINUTE = 60_000
HOUR = 60 * MINUTE
START = 1_795_000_000_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return log_at(tmp_path / "hudkit.db")


def log_at(path: Path) -> Path:
    with SqliteLog.open(path) as log:
        log.append("s", [make_draft(NoteAdd("first"), 0)])
    return path


class Over(Exception):
    """The test has seen enough."""


def run(
    databases: Sequence[tuple[Path, DatabaseKind]], settings: BackupSettings, times: Sequence[int]
) -> list[float]:
    """Run the timer; its clock shows one of these times after the other, a look at a time. Returns what it slept."""
    left, slept = list(times), []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        left.pop(0)
        if not left:
            raise Over

    async def main() -> None:
        await back_up_in_time(lambda: databases, settings, clock=lambda: left[0], sleep=sleep)

    with pytest.raises(Over):
        asyncio.run(main())
    return slept


def times_of(path: Path) -> list[int | None]:
    return [backup_time(file) for file in backup_paths(path)]


def test_a_backup_is_made_when_the_newest_is_as_old_as_the_settings_say(path: Path) -> None:
    times = [START + minutes * MINUTE for minutes in (0, 10, 119, 120, 130, 241)]
    slept = run([(path, LOG)], BackupSettings(every_hours=2, keep=7), times)
    assert times_of(path) == [times[0], times[3], times[5]]
    assert all(not list(verify_file(copy)) for copy in backup_paths(path))
    assert slept == [600.0] * 6, "it looks more often than it copies: a machine sleeps, and a daemon ends"


def test_what_an_earlier_daemon_copied_counts(path: Path) -> None:
    run([(path, LOG)], BackupSettings(every_hours=24), [START])
    run([(path, LOG)], BackupSettings(every_hours=24), [START + HOUR, START + 23 * HOUR, START + 24 * HOUR])
    assert times_of(path) == [START, START + 24 * HOUR]


def test_the_newest_stay_and_a_short_interval_is_slept_in_full(path: Path) -> None:
    times = [START + number * 6 * MINUTE for number in range(5)]
    slept = run([(path, LOG)], BackupSettings(every_hours=0.1, keep=2), times)
    assert times_of(path) == times[-2:] and slept == [360.0] * 5


def test_nothing_is_copied_and_nobody_waits_where_it_is_not_asked_for(path: Path) -> None:
    asyncio.run(back_up_in_time(lambda: [(path, LOG)], BackupSettings()))
    assert backup_paths(path) == []


def test_a_backup_from_the_future_does_not_stop_backups(path: Path) -> None:
    """The clock was a year ahead for a while."""
    run([(path, LOG)], BackupSettings(every_hours=1), [START + 8_760 * HOUR])
    run([(path, LOG)], BackupSettings(every_hours=1, keep=2), [START, START + MINUTE, START + HOUR])
    assert times_of(path)[-1] == START + 8_760 * HOUR or times_of(path) == [START, START + HOUR]
    assert START + HOUR in times_of(path)


def test_a_damaged_database_is_said_keeps_its_backups_and_holds_up_no_other(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = log_at(path.with_name("other.db"))
    run([(path, LOG)], BackupSettings(every_hours=1, keep=1), [START])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE events SET body = CAST(replace(body, 'first', 'other') AS BLOB)")
    db.close()
    with caplog.at_level(logging.ERROR):
        run([(path, LOG), (other, LOG)], BackupSettings(every_hours=1, keep=1), [START + HOUR, START + 2 * HOUR])
    assert times_of(path) == [START] and times_of(other) == [START + 2 * HOUR]
    assert [record.getMessage().startswith("no backup of hudkit.db") for record in caplog.records] == [True, True]
