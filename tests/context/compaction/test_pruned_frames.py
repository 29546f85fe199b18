"""Pruning in frames and in the log: stubs stay what they are, in every call, until a compaction."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudkit.api import Hud, HudSession
from hudkit.config import Settings
from hudkit.context.caching import Segment, common_prefix
from hudkit.context.compaction.request_parts import CallOutput
from hudkit.hud.frame import Frame
from hudkit.log import Origin
from hudkit.log.payloads import (
    CompactAfter,
    ContextSnapshot,
    ErrorEncountered,
    ErrorResolved,
    FileEdit,
    FileOpen,
    OutputsPrune,
    RequestParts,
    SentTranscript,
    ToolOutputTotal,
)

MINUTE = 60_000
WORDS = 1_200  # characters of an answer and its calls
FREED = 6_000
"""Tokens that a pruning frees at least, where the user sets nothing."""


class Said(NamedTuple):
    tool: str
    size: int


class Talk:
    """A host's transcript that grows by one output a call, and its clock."""

    def __init__(self, model: str = "claude-sonnet-4-5", limit: int | None = 60_000, **pruning: object) -> None:
        self.now = 1_795_000_000_000
        self.limit = limit
        settings = msgspec.convert({"pruning": {"enabled": True, **pruning}}, Settings)
        self.hud = Hud.in_memory(clock=lambda: self.now, settings=settings)
        self.session: HudSession = self.hud.session("s")
        self.model = model
        self.said: list[Said] = []
        self.first = 0
        self.before: tuple[Segment, ...] | None = None

    def call(self, tool: str = "bash", size: int = 12_000, idle: int = 10_000, used: int | None = None) -> Frame:
        self.now += idle
        self.said.append(Said(tool, size))
        outputs, behind = [], 0
        for n in range(len(self.said) - 1, self.first - 1, -1):
            one = self.said[n]
            later = len(self.said) - 1 - n  # the user says something before each call
            outputs.append(CallOutput(f"c{n}", one.tool, one.size, behind, 2 * later, later))
            behind += one.size + WORDS
        outputs.reverse()
        total = behind - sum(one.size for one in outputs)

        def sent(stubs: dict[str, int]) -> SentTranscript:
            return common_prefix(self.before, self.pieces(stubs))

        frame = self.session.frame(
            used_tokens=used,
            limit_tokens=self.limit,
            model=self.model,
            transcript=[("u", "user"), *((one.call, "tool") for one in outputs)],
            outputs=outputs,
            parts=RequestParts(20_000, 20_000, total, (ToolOutputTotal("bash", sum(one.size for one in outputs)),)),
            sent_prefix=sent,  # type: ignore[arg-type]
        )
        self.before = self.pieces({one.call: len(one.text) for one in frame.pruned})
        return frame

    def pieces(self, stubs: dict[str, int]) -> tuple[Segment, ...]:
        return tuple(
            Segment(f"c{n}", "tool", WORDS + stubs.get(f"c{n}", self.said[n].size))
            for n in range(self.first, len(self.said))
        )

    def compact(self) -> None:
        self.session.append(CompactAfter("so far"), origin=Origin.HOST)
        self.first, self.before = len(self.said), None

    @property
    def prunings(self) -> list[OutputsPrune]:
        return [event.payload for event in self.session.events() if isinstance(event.payload, OutputsPrune)]


def test_nothing_is_pruned_where_the_user_does_not_ask_for_it() -> None:
    settings = Settings()
    assert not settings.pruning.enabled
    talk = Talk(enabled=settings.pruning.enabled)
    for _ in range(30):
        assert talk.call(idle=HOUR).pruned == ()


def test_below_half_of_the_window_nothing_is_pruned_whatever_it_would_save() -> None:
    talk = Talk(limit=200_000)
    for _ in range(24):
        assert talk.call(idle=HOUR, used=99_999).pruned == ()
    assert talk.call(idle=HOUR, used=100_000).pruned
    roomy = Talk(limit=200_000, min_used_percent=5)
    for _ in range(9):
        roomy.call()
    assert roomy.call(idle=HOUR).pruned, "the user may set another bound"


def test_in_a_window_that_nobody_knows_nothing_is_pruned() -> None:
    talk = Talk("a-model-of-nobody", limit=None)
    for _ in range(60):
        assert talk.call(idle=HOUR).pruned == ()


def test_the_last_read_of_a_file_stays_and_so_does_what_was_edited_since() -> None:
    talk = Talk(limit=60_000)
    read = {"a.py": (0, 2), "b.py": (1,), "c.py": (3, 5), "d.py": (4,)}
    for path, calls in sorted(read.items()):
        for n in calls:
            talk.session.append(FileOpen(path, by_call=f"c{n}"), origin=Origin.TOOL)
    talk.session.append(FileEdit("c.py"), origin=Origin.TOOL)
    for n in range(11):
        talk.call("read" if n < 6 or n == 7 else "bash")
    gone = {one.call for one in talk.call(idle=HOUR).pruned}
    assert gone == {"c0", "c6", "c8", "c9"}, "c7 read a file that nobody knows"


def test_a_pause_is_used_and_the_stubs_stay() -> None:
    talk = Talk()
    for _ in range(9):
        assert talk.call().pruned == ()
    frame = talk.call(idle=6 * MINUTE)
    (pruning,) = talk.prunings
    assert pruning.reason == "idle" and pruning.freed > 10_000 and pruning.reprocessed == 0
    assert [(one.call, one.text) for one in frame.pruned] == [(one.call, one.text) for one in pruning.stubs]
    assert frame.pruned[0].text == '[pruned: bash, 12,000 characters; memory output {"id":"p1"} gets it]'
    assert [one.call for one in frame.pruned] == [f"c{n}" for n in range(len(frame.pruned))]
    for _ in range(3):
        assert talk.call().pruned == frame.pruned
    assert len(talk.prunings) == 1


@pytest.mark.slow
def test_what_is_recorded_is_in_the_same_commit_and_comes_back_at_any_time() -> None:
    talk = Talk()
    frames = {}
    for n in range(60):
        frame = talk.call(idle=6 * MINUTE if n in (12, 30) else 5_000)
        frames[talk.session.state.seq] = frame
    assert len(talk.prunings) >= 2
    for seq, frame in frames.items():
        assert talk.session.frame_at(seq) == frame
    again = talk.hud.session("s")
    assert again.state.pruned_outputs == talk.session.state.pruned_outputs
    assert (
        len(again.state.pruned_outputs.stubs)
        == again.state.pruned_outputs.count
        == sum(len(one.stubs) for one in talk.prunings)
    )
    events = list(talk.session.events())
    for place, event in enumerate(events):
        if isinstance(event.payload, OutputsPrune):
            assert event.origin is Origin.SYSTEM
            assert type(events[place + 1].payload).__name__ == "ContextSnapshot"


def test_the_log_says_what_departs() -> None:
    talk = Talk()
    for _ in range(9):
        talk.call()
    frame = talk.call(idle=6 * MINUTE)
    taken = list(talk.session.events())[-1].payload
    assert isinstance(taken, ContextSnapshot) and taken.sent is not None and taken.parts is not None
    sent, parts = taken.sent, taken.parts
    assert sent.first is not None and sent.first.how == "changed" and sent.first.anchor == "c0"
    assert (sent.first.was, sent.first.now) == (WORDS + 12_000, WORDS + len(frame.pruned[0].text))
    gone = sum(12_000 - len(one.text) for one in frame.pruned)
    assert parts.outputs == (ToolOutputTotal("bash", 10 * 12_000 - gone),)
    assert sent.size == sum(piece.size for piece in talk.pieces({})) - gone


@pytest.mark.slow
def test_disabled_means_disabled() -> None:
    talk = Talk(enabled=False)
    for n in range(80):
        frame = talk.call(idle=HOUR if n % 9 == 0 else 5_000)
        assert frame.pruned == ()
    assert talk.prunings == []
    assert talk.session.state.pruned_outputs.stubs == ()


HOUR = 60 * MINUTE


def test_a_compaction_forgets_the_stubs_and_no_number_is_given_twice() -> None:
    talk = Talk()
    for _ in range(9):
        talk.call()
    before = talk.call(idle=HOUR).pruned
    talk.compact()
    assert talk.call().pruned == ()
    for _ in range(9):
        talk.call()
    after = talk.call(idle=HOUR).pruned
    assert after and not {one.text for one in before} & {one.text for one in after}
    assert f'"p{len(before) + 1}"' in after[0].text


def test_tools_that_are_protected_stay() -> None:
    talk = Talk(tools=("my_*",))
    for n in range(30):
        talk.call(("bash", "memory", "todowrite", "my_search", "hud", "task")[n % 6])
    talk.call(idle=HOUR)
    tools = {talk.said[int(one.call[1:])].tool for one in talk.session.state.pruned_outputs.stubs}
    assert tools == {"bash"}


def test_the_output_of_an_open_failure_stays_until_it_is_resolved() -> None:
    talk = Talk()
    talk.call("bash")
    talk.session.append(ErrorEncountered("3 tests fail", key="tests", by_call="c0"), origin=Origin.TOOL)
    for _ in range(9):
        talk.call()
    assert [one.call for one in talk.call(idle=HOUR).pruned][:2] == ["c1", "c2"]
    talk.session.append(ErrorResolved(key="tests"), origin=Origin.TOOL)
    for _ in range(9):
        talk.call()
    talk.call(idle=HOUR)
    assert "c0" in talk.session.state.pruned_outputs.calls


@pytest.mark.slow
@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5"])
def test_a_long_session_without_pauses_is_pruned_when_that_pays(model: str) -> None:
    talk = Talk(model)
    for _ in range(150):
        talk.call()
    assert 1 <= len(talk.prunings) <= 30  # 500,000 tokens were brought
    assert {one.reason for one in talk.prunings} == {"pays"}
    assert all(one.saves > 0 for one in talk.prunings)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["grep", "bash", "hud"]),
            st.sampled_from([40, 900, 6_000, 24_000, 50_000]),
            st.sampled_from([2_000, 9_000, 40_000, 290_000, 310_000, 700_000]),
        ),
        min_size=20,
        max_size=120,
    ),
    model=st.sampled_from(["claude-sonnet-4-5", "gpt-5"]),
    compacted=st.sets(st.integers(10, 110), max_size=2),
)
def test_it_never_oscillates(steps: list[tuple[str, int, int]], model: str, compacted: set[int]) -> None:
    """In any session: a stub stays, byte for byte, until a compaction; a break while the cache was warm had been paid
    for by half with what the outputs had cost, each pruning frees its minimum, so that breaks are few."""
    talk = Talk(model)
    stubs: tuple[object, ...] = ()
    brought = 0
    for n, (tool, size, idle) in enumerate(steps):
        if n in compacted:
            talk.compact()
            stubs = ()
        before = len(talk.prunings)
        frame = talk.call(tool, size, idle)
        brought += size
        assert frame.pruned[: len(stubs)] == stubs
        assert (frame.pruned != stubs) is (len(talk.prunings) > before)
        stubs = frame.pruned
    for one in talk.prunings:
        assert one.freed >= FREED
    calls = [one.call for pruning in talk.prunings for one in pruning.stubs]
    assert len(calls) == len(set(calls))
    assert len(talk.prunings) <= brought / 4 / FREED
