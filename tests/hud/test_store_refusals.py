"""A store that refuses: the agent's call goes on, and nothing is acknowledged that was not recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudkit.api import Hud
from hudkit.errors import ConfigError, StoreError, StoreFull, StoreReadOnly
from hudkit.log.payloads import NoteAdd, TaskSet
from hudkit.log.stores import MemoryLog, open_log
from ticking import Ticking


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log" / "hud.db"


@pytest.fixture
def written(path: Path, ticking: Ticking) -> Iterator[Hud]:
    """A log with a task, a base and a delta in it."""
    with Hud.open(path, clock=ticking.clock, ids=ticking.ids) as hud:
        session = hud.session("s")
        session.append(TaskSet("Ship it"))
        session.frame(1000, 200_000, transcript=["a"])
        session.append(NoteAdd("one"))
        session.frame(2000, 200_000, transcript=["a", "b"])
        yield hud


def test_a_closed_log(written: Hud) -> None:
    session = written.session("s")
    last = session.frame(2000, 200_000, transcript=["a", "b"])
    written.close()
    frame = session.frame(180_000, 200_000, transcript=["a", "b", ("c", "tool")])
    assert (frame.base, frame.deltas) == (last.base, last.deltas)
    assert frame.notice == "state: read-only (store); changes are not recorded"
    assert frame.tail.endswith(f"HUD: {frame.notice}\n"), "within a turn too"
    with pytest.raises(StoreError, match="closed"):
        session.append(NoteAdd("x"))
    with pytest.raises(StoreError, match="closed"):
        session.call("notes.add", {"content": "x"})
    assert "not recorded" in session.tool("hud", {"tool": "notes.add", "args": {"content": "x"}})


def test_a_closed_log_that_this_session_never_read(written: Hud, path: Path) -> None:
    with Hud.open(path) as other:
        session = other.session("s")
    frame = session.frame()
    assert frame.notice and "none set" in frame.base
    with pytest.raises(StoreError, match="closed"):
        _ = session.state


def test_a_read_only_log_shows_what_is_there(written: Hud, path: Path, ticking: Ticking) -> None:
    last = written.session("s").frame(2000, 200_000, transcript=["a", "b"])
    seq = written.log.last_seq("s")
    with Hud(open_log(path, read_only=True), clock=ticking.clock) as reader:
        session = reader.session("s")
        assert session.state == written.session("s").state
        frame = session.frame(3000, 200_000, transcript=["a", "b", "c"])
        assert (frame.base, frame.deltas) == (last.base, last.deltas)
        assert "read-only (read-only)" in frame.notice
        assert frame.tail == f"Context: 2% (3k/200k); growing\n\nHUD: {frame.notice}\n"
        with pytest.raises(StoreReadOnly):
            session.append(NoteAdd("x"))
        written.session("s").append(NoteAdd("written meanwhile"))
        later = session.frame(3000, 200_000, transcript=["a", "b", "c"])
        assert later.deltas == last.deltas, "what cannot be recorded is not told"
        assert len(session.state.notes) == 2
    assert written.log.last_seq("s") == seq + 1


def test_a_read_only_log_without_a_frame_composes_one(path: Path) -> None:
    with Hud.open(path) as hud:
        hud.session("s").append(TaskSet("Ship it"))
    with Hud(open_log(path, read_only=True)) as reader:
        frames = [reader.session("s").frame() for _ in range(2)]
        assert all("Ship it" in frame.base and frame.notice for frame in frames)
        assert reader.log.last_seq("s") == 1


def test_the_same_call_again_needs_no_store(written: Hud, path: Path, ticking: Ticking) -> None:
    written.session("s").frame(2000, 200_000, transcript=["a", "b"])
    with Hud(open_log(path, read_only=True), clock=ticking.clock) as reader:
        frame = reader.session("s").frame(2000, 200_000, transcript=["a", "b"])
        assert frame.notice == "", "nothing was to be recorded"


def test_a_frame_of_a_closed_log_checks_its_arguments(written: Hud) -> None:
    session = written.session("s")
    written.close()
    with pytest.raises(ConfigError):
        session.frame(budget=-1)


def test_a_notice_without_room_is_left_out_and_said_so(path: Path) -> None:
    """Contract 2 before the tail: the frame says in `notice` and `omitted` what it has no room to show."""
    with Hud.open(path) as hud:
        session = hud.session("s")
        session.append(TaskSet("Ship it"))
        full = session.frame(1000, 200_000)
        budget = full.tokens
        session.frame(1000, 200_000, budget=budget)
    frame = session.frame(1000, 200_000, budget=budget)
    assert frame.tokens <= budget and frame.notice and frame.base == full.base
    assert frame.tail == "" and [one.path for one in frame.omitted] == ["/tail"]
    assert frame.notice in frame.omitted[0].text


def test_a_smaller_budget_holds_without_a_store_too(written: Hud) -> None:
    session = written.session("s")
    session.append(*(NoteAdd(f"note {n} " + "word " * 20) for n in range(15)))
    assert session.frame(1000, 200_000, budget=900, density="full").tokens > 300
    written.close()
    frame = session.frame(1000, 200_000, budget=300)
    assert frame.tokens <= 300 and "Ship it" in frame.base and frame.notice


class Refusing(MemoryLog):
    """A log on a medium that is full until it is not."""

    full = True

    def append(self, session_id, drafts, *, expected=None):  # type: ignore[no-untyped-def]
        if self.full:
            raise StoreFull("no space left on the medium")
        return super().append(session_id, drafts, expected=expected)


def test_the_base_of_a_log_that_was_never_written_to_stays_byte_for_byte_and_is_recorded_when_it_can_be() -> None:
    log = Refusing()
    session = Hud(log).session("s")
    frames = [session.frame(1000, 200_000, transcript=["a"]) for _ in range(3)]
    assert {frame.notice for frame in frames} == {"state: read-only (full); changes are not recorded"}
    assert len({frame.base for frame in frames}) == 1, "each call had a tag of its own, and no prefix in common"
    log.full = False
    recorded = session.frame(1000, 200_000, transcript=["a"])
    assert (recorded.base, recorded.notice) == (frames[0].base, "")
    assert Hud(log).session("s").frame(1000, 200_000, transcript=["a", "b"]).base == recorded.base
    assert Hud(Refusing()).session("s").frame().tag != recorded.tag
