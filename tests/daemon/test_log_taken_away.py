"""The daemon's log is removed, replaced and put back while it runs (G6)."""

from __future__ import annotations

import http.client
import shutil
from pathlib import Path
from typing import Any

import pytest

from hudkit import Hud
from hudkit.daemon.client import greet
from waiting import until

pytestmark = pytest.mark.slow


def add(running: Any, text: str) -> tuple[int, dict[str, Any]]:
    status, answer = running.asked(
        "/v1/tool", router="hud", arguments={"tool": "notes.add", "args": {"content": text}}
    )
    return status, answer


def shown(running: Any) -> str:
    answer = running.ask("/v1/frame")
    return str(answer["base"] + answer["tail"])


def shows_the_backup(running: Any) -> bool:
    """Whether frames are of the backup; for a moment there is nobody to ask."""
    try:
        return "after the backup" not in shown(running)
    except (OSError, http.client.HTTPException):
        return False


def backup(running: Any) -> Path:
    """A whole copy of the log as of now, elsewhere."""
    assert running.sent("/v1/stop", b"{}")[0] == 200
    running.processes[-1].wait()
    copy = Path(shutil.copy(running.db, running.db.with_name("backup.db")))
    running.start()
    return copy


def test_a_deleted_log_acknowledges_nothing_and_the_frame_says_so(running: Any) -> None:
    assert add(running, "first")[1]["ok"]
    running.db.unlink()
    for _ in range(3):
        status, answer = add(running, "into nothing")
        assert not answer.get("ok") and "Added" not in str(answer), (status, answer)
        assert "removed or moved" in str(answer)
        frame = running.ask("/v1/frame")
        assert frame["ack"] == "" and "read-only (gone)" in frame["notice"] and "first" in frame["base"]
    assert running.asked("/v1/events", messages=[], todos=[])[0] in (200, 503)
    assert not running.db.exists(), "nobody asked for a new log"


def test_a_log_that_is_put_back_is_written_again(running: Any) -> None:
    assert add(running, "first")[1]["ok"]
    away = running.db.with_name("away.db")
    running.db.rename(away)
    assert not add(running, "into nothing")[1].get("ok")
    away.rename(running.db)
    assert add(running, "second")[1]["ok"]
    running.sent("/v1/stop", b"{}")
    running.processes[-1].wait()
    with Hud.open(running.db) as hud:
        (name,) = [key for key in hud.sessions() if not key.startswith("@")]
        assert [note.content for note in hud.session(name).state.notes.items] == ["first", "second"]


def test_a_backup_renamed_over_the_log_is_taken_up_without_a_restart_by_hand(running: Any) -> None:
    assert add(running, "in the backup")[1]["ok"]
    copy = backup(running)
    assert add(running, "after the backup")[1]["ok"]
    pid = running.processes[-1].pid
    copy.replace(running.db)
    assert not add(running, "into nothing")[1].get("ok")
    until(lambda: shows_the_backup(running), "the log is not opened again")
    assert running.processes[-1].pid == pid == greet(running.socket).pid
    assert "in the backup" in shown(running)
    assert add(running, "after the restore")[1]["ok"]
    running.sent("/v1/stop", b"{}")
    running.processes[-1].wait()
    with Hud.open(running.db) as hud:
        (name,) = [key for key in hud.sessions() if not key.startswith("@")]
        notes = [note.content for note in hud.session(name).state.notes.items]
    assert notes == ["in the backup", "after the restore"]
