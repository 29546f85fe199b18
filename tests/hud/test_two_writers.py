"""Several sessions on one log: nothing comes between a decision and its events, and nobody's events are lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud, HudSession
from hudkit.errors import BudgetError, SequenceConflict
from hudkit.hud.frame import Frame
from hudkit.hud.session_core import APPEND_ATTEMPTS
from hudkit.log import Batch, Event, EventDraft, EventLog, Origin
from hudkit.log.payloads import FrameBase, NoteAdd, Payload, StepAdd, TaskSet
from hudkit.log.stores.memory_log import MemoryLog
from hudkit.sections.state import HudState, fold
from hudkit.tokens import count_tokens
from strategies import payloads
from ticking import Ticking


class Overtaken:
    """A log on which somebody else writes just before an append that expects an order."""

    def __init__(self, log: EventLog, other: Callable[[], None]) -> None:
        self._log = log
        self._other = other

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        if expected is not None:
            self._other()
        return self._log.append(session_id, drafts, expected=expected)

    def append_together(self, batches: Sequence[Batch]) -> list[tuple[Event, ...]]:
        if any(batch.expected is not None for batch in batches):
            self._other()
        return self._log.append_together(batches)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def test_decide_is_asked_again_when_another_was_first(hud: Hud) -> None:
    mine, other = hud.session("s"), Hud(hud.log).session("s")
    seen: list[int] = []

    def decision(state: HudState) -> list[Payload]:
        seen.append(len(state.steps))
        if len(seen) <= 2:
            other.append(StepAdd(f"of another {len(seen)}"))
        return [StepAdd(f"step {len(state.steps) + 1}")]

    events, before = mine.decide(decision)
    assert seen == [0, 1, 2]
    assert [event.seq for event in events] == [3] and before.seq == 2
    assert [step.description for step in mine.state.steps] == ["of another 1", "of another 2", "step 3"]
    assert mine.state == other.state


def test_decide_gives_up_with_the_conflict(hud: Hud) -> None:
    mine, other = hud.session("s"), Hud(hud.log).session("s")
    asked: list[int] = []

    def decision(state: HudState) -> list[Payload]:
        asked.append(state.seq)
        other.append(NoteAdd(f"note {state.seq}"))
        return [StepAdd("never")]

    with pytest.raises(SequenceConflict):
        mine.decide(decision)
    assert len(asked) == APPEND_ATTEMPTS and len(mine.state.steps) == 0


def test_decide_on_nothing(hud: Hud) -> None:
    session = hud.session("s")
    session.append(TaskSet("x"))
    events, state = session.decide(lambda state: [])
    assert events == () and state == session.state and state.seq == 1


def test_decide_sets_the_origin(hud: Hud) -> None:
    events, _ = hud.session("s").decide(lambda state: [NoteAdd("x")], origin=Origin.HOST)
    assert [event.origin for event in events] == [Origin.HOST]


def test_a_frame_is_composed_again_when_another_was_first() -> None:
    log = MemoryLog()
    other = Hud(log).session("s")
    late = iter(["one", "two", "three"])

    def overtake() -> None:
        for text in [next(late, "")]:
            if text:
                other.append(NoteAdd(text))

    session = Hud(Overtaken(log, overtake)).session("s")
    frame = session.frame()
    assert all(text in frame.base for text in ("one", "two", "three"))
    assert [event.seq for event in session.events() if isinstance(event.payload, FrameBase)] == [4]
    assert frame == session.frame_at(session.state.seq)


def test_a_frame_that_is_always_overtaken_goes_out_with_a_notice() -> None:
    log = MemoryLog()
    other = Hud(log).session("s")
    session = Hud(Overtaken(log, lambda: other.append(NoteAdd(f"{log.last_seq('s')}")) and None)).session("s")
    frame = session.frame()
    assert "conflict" in frame.notice and frame.base
    assert not any(isinstance(event.payload, FrameBase) for event in session.events())


def test_two_sessions_share_an_epoch(hud: Hud, ticking: Ticking) -> None:
    mine, other = hud.session("s"), Hud(hud.log, clock=ticking.clock).session("s")
    first = mine.frame(transcript=["a"])
    other.append(NoteAdd("theirs"))
    second = other.frame(transcript=["a", "b"])
    third = mine.frame(transcript=["a", "b", "c"])
    assert first.base == second.base == third.base
    assert second.deltas == third.deltas and len(third.deltas) == 1


def test_one_append_without_an_expectation_never_conflicts(hud: Hud) -> None:
    mine, other = hud.session("s"), Hud(hud.log).session("s")
    assert mine.state.seq == 0
    other.append(NoteAdd("a"))
    stored = mine.append(NoteAdd("b"))
    assert stored[0].seq == 2 and [note.content for note in mine.state.notes] == ["a", "b"]


class Overlooked(Overtaken):
    """A log on which somebody else writes before every append."""

    def append(
        self, session_id: str, drafts: Sequence[EventDraft], *, expected: int | None = None
    ) -> tuple[Event, ...]:
        self._other()
        return self._log.append(session_id, drafts, expected=expected)


def test_events_of_another_just_before_ours_are_folded_too() -> None:
    log = MemoryLog()
    other = Hud(log).session("s")
    session = Hud(Overlooked(log, lambda: other.append(NoteAdd(f"their {log.last_seq('s')}")) and None)).session("s")
    stored = session.append(NoteAdd("mine"))
    assert stored[0].seq == 2
    assert [note.content for note in session.state.notes] == ["their 0", "mine"]


Op = tuple[int, Payload | str]
roles = st.sampled_from(["user", "tool", "system", "again"])


class Pair:
    """Two `Hud` objects on one file, with one transcript that grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.huds = [Hud.open(path), Hud.open(path)]
        self.messages: list[tuple[str, str]] = []
        self.told = 0
        self.sent: list[tuple[int, Frame]] = []

    def session(self, which: int) -> HudSession:
        return self.huds[which].session("s")

    def do(self, which: int, what: Payload | str) -> None:
        session = self.session(which)
        if not isinstance(what, str):
            session.append(what)
            self.told += 1
            return
        if what in ("user", "tool"):
            self.messages.append((f"m{len(self.messages)}", what))
        placement = "system" if what == "system" else "anchored"
        try:
            frame = session.frame(1000, 200_000, budget=600, placement=placement, transcript=self.messages)
        except BudgetError:
            return
        assert frame.notice == "" and frame.tokens == count_tokens(frame.text) <= 600
        self.sent.append((session.state.seq, frame))

    def check(self) -> None:
        every = list(self.session(0).events())
        assert [event.seq for event in every] == list(range(1, len(every) + 1))
        assert sum(event.origin is Origin.AGENT for event in every) == self.told
        assert self.session(0).state == self.session(1).state == fold(every, HudState(session_id="s"))
        for hud in self.huds:
            hud.close()
        with Hud.open(self.path) as fresh:
            assert list(fresh.verify()) == []
            session = fresh.session("s")
            for seq, frame in self.sent:
                assert session.frame_at(seq) == frame
        sent = [frame for _, frame in self.sent]
        for before, after in pairwise(sent):
            if before.epoch == after.epoch:
                assert before.base == after.base and after.deltas[: len(before.deltas)] == before.deltas


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 1), st.one_of(payloads, roles)), max_size=20))
def test_two_huds_on_one_file(ops: list[Op]) -> None:
    with TemporaryDirectory() as folder:
        pair = Pair(Path(folder) / "log" / "hud.db")
        for which, what in ops:
            pair.do(which, what)
        pair.check()
