"""Every database of ours can be made by one process while another opens it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hudkit.hosts.gateway.conversations import ConversationBook
from hudkit.log.stores import open_log
from hudkit.transcripts.search.index_database import open_writer


@pytest.mark.parametrize(
    "opened",
    [
        pytest.param(lambda path: open_log(path).close(), id="log"),
        pytest.param(lambda path: open_writer(path, 5).close(), id="index"),
        pytest.param(lambda path: ConversationBook(path).close(), id="gateway"),
    ],
)
def test_who_opens_a_file_that_another_makes_waits(
    opened: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new.db"
    path.touch(0o600)
    other = sqlite3.connect(path, isolation_level=None)
    # SQLite itself does not wait where the way into a write-ahead log is locked.
    other.execute("BEGIN IMMEDIATE")
    waits: list[float] = []

    def ready(seconds: float) -> None:
        waits.append(seconds)
        if other.in_transaction:
            other.execute("ROLLBACK")

    monkeypatch.setattr(time, "sleep", ready)
    opened(path)
    assert waits
    other.close()
