"""A frame waits for the disk where a call carries something for the first time, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from hudkit import Hud
from hudkit.log.payloads import TodoItem, TodoSync
from hudkit.log.stores import high_water_mark as marks


@pytest.mark.slow
def test_a_frame_waits_for_the_disk_only_where_it_carries_something_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "SYNC_SECONDS", 3_600.0)
    mark = tmp_path / "log.db.mark"
    with Hud.open(tmp_path / "log.db") as hud:
        session = hud.session("s")
        session.call("task.set", {"description": "Mend the parser"})
        before = mark.read_bytes()
        first = session.frame(transcript=[("u1", "user")])
        assert first.base and mark.read_bytes() != before, "a base is durable before it is sent"
        before, seq = mark.read_bytes(), session.state.seq
        again = session.frame(transcript=[("u1", "user"), ("a1", "tool")])
        assert again.base == first.base and not again.deltas
        assert mark.read_bytes() == before, "nothing new: it goes out at once"
        assert session.state.seq > seq and session.frame_at(session.state.seq).base == again.base
        session.append(TodoSync((TodoItem("look again", "pending", ""),)))
        before = mark.read_bytes()
        waiting = session.frame(transcript=[("u1", "user"), ("a1", "tool")])
        assert [delta.text for delta in session.state.epoch.deltas] == [""] and waiting.text == again.text
        assert mark.read_bytes() == before, "that a change waits is noted, and goes out at once"
        Hud(hud.log).session("s").call("notes.add", {"text": "said elsewhere"})
        before = mark.read_bytes()
        new = session.frame(transcript=[("u1", "user"), ("a1", "tool"), ("u2", "user")])
        assert new.deltas and mark.read_bytes() != before, "so is a block"
