"""What fills the window: parts that add up to the report, estimates marked as such, unknown after a compaction."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.hud.frame import Frame
from hudkit.hud.window_usage import WindowUsage, window_usage
from hudkit.log import Origin
from hudkit.log.payloads import (
    CompactAfter,
    CompactBefore,
    ContextSnapshot,
    LearnedCalibration,
    RequestParts,
    ResponseTokens,
    SentTranscript,
    TaskSet,
    ToolOutputTotal,
)
from hudkit.sections.model_calibration import PART_COUNT
from hudkit.tools import call

LIMIT = 200_000


class Chat:
    """A session whose calls tell their parts; its model reports a quarter of a token a character, and the frame."""

    def __init__(self, session: HudSession) -> None:
        self.session = session
        self.read, self.bash, self.words = 0, 0, 400
        self.messages: list[tuple[str, str]] = []

    def ask(self, role: str = "tool", used: int | None = None) -> Frame:
        self.messages.append((f"m{len(self.messages)}", role))
        outputs = tuple(ToolOutputTotal(*one) for one in (("bash", self.bash), ("read", self.read)) if one[1])
        self.frame = self.session.frame(
            used,
            LIMIT,
            transcript=list(self.messages),
            model="m",
            sent_prefix=lambda _: SentTranscript(messages=len(self.messages)),
            parts=RequestParts(8_000, 20_000, self.words, outputs),
        )
        return self.frame

    def answer(self, output: int = 40) -> int:
        request = (28_000 + self.words + self.read + self.bash) // 4 + self.frame.tokens
        spent = ResponseTokens(fresh=request // 2, read=request - request // 2, output=output)
        used = request + output
        report = ContextSnapshot(used, LIMIT, 8_000, model="m", source="reported", spent=spent)
        self.session.append(report, origin=Origin.HOST)
        return used

    def filled(self) -> WindowUsage:
        return window_usage(self.session.state, self.session.settings)

    def lived(self, calls: int) -> int:
        used = 0
        for _ in range(calls):
            self.ask(used=used or None)
            used = self.answer()
            self.read, self.bash, self.words = self.read + 6_000, self.bash + 2_000, self.words + 300
        return used


@pytest.fixture
def chat(hud: Hud) -> Chat:
    session = hud.session("s")
    session.append(TaskSet("Ship it"))
    return Chat(session)


def test_the_parts_add_up_to_what_was_reported(chat: Chat) -> None:
    used = chat.lived(8)
    found = chat.filled()
    tokens = {one.part: one.tokens for one in found.shares}
    assert sum(tokens.values()) == used == found.usage.used_tokens
    assert tokens["HUD"] == chat.frame.tokens and tokens["last answer"] == 40
    assert {one.part for one in found.shares if one.exact} == {"HUD", "last answer"}
    assert tokens["output of read"] == pytest.approx(7 * 6_000 / 4, rel=0.05)
    assert tokens["output of bash"] == pytest.approx(7 * 2_000 / 4, rel=0.05)
    assert found.reports == 8 and found.error is not None and found.error < 0.01
    assert found.now is None and found.trend is not None and found.overflow is None


def test_between_reports_there_is_an_estimate(chat: Chat) -> None:
    chat.lived(8)
    chat.ask(used=chat.session.state.window.used_tokens)
    found = chat.filled()
    told = chat.answer(0)
    assert found.now == pytest.approx(told, rel=0.03)
    assert found.doubt is not None and 0 < found.doubt < 0.2
    assert chat.filled().now is None


def test_after_a_compaction_it_is_unknown_until_the_next_report(chat: Chat) -> None:
    used = chat.lived(8)
    chat.session.append(CompactAfter("so far"), origin=Origin.HOST)
    found = chat.filled()
    assert found.usage.used_tokens is None and found.now is None and not found.shares
    assert call(chat.session, "context").text.startswith("Usage is unknown until the next report")
    chat.read, chat.bash, chat.words, chat.messages = 0, 0, 2_000, []
    assert "Context: usage unknown until the next report" in chat.ask("user").tail
    said, found = call(chat.session, "context"), chat.filled()
    assert found.now is not None and sum(one.tokens for one in found.shares) == found.now < used
    assert "unknown" in said.text and "estimated" in said.text and said.data["parts_of"] == "estimated"
    told = chat.answer(0)
    assert found.now == pytest.approx(told, rel=0.05)
    assert f"{told:,} of 200,000" in call(chat.session, "context").text
    assert "unknown" not in chat.ask("user", told).tail


def test_the_agent_sees_what_fills_its_window(chat: Chat) -> None:
    chat.lived(4)
    chat.read += 400_000
    chat.ask()
    used = chat.answer()
    said = call(chat.session, "context")
    lines = [line for line in said.text.splitlines() if line.startswith("| ")]
    assert lines[0] == "| part | tokens | of the window |" and lines[1].startswith("| output of read ~ |")
    assert lines[-2].startswith("| kept free for an answer | 8,000 |")
    assert lines[-1].startswith(f"| free | {LIMIT - 8_000 - used:,} |")
    assert "`hud_compact`" in said.text and "must" not in said.text and "!" not in said.text
    assert len(said.text) < 1_500


def test_a_replay_gives_the_same(chat: Chat) -> None:
    chat.lived(5)
    session = chat.session
    assert session.state_at(session.state.seq).model_calibration == session.state.model_calibration
    with Hud.in_memory() as other:
        copy = other.session("copy")
        for event in session.events():
            copy.append(event.payload, origin=event.origin)
        assert copy.state.model_calibration.models[0].reports >= 1


def test_what_others_learned_comes_first_and_own_reports_go_before_it(chat: Chat) -> None:
    factors = (1.2,) * PART_COUNT
    doubts = (0.01,) * (PART_COUNT * (PART_COUNT + 1) // 2)
    for wrong in (LearnedCalibration("m", (1.0,), (), 3), LearnedCalibration("m", (1e300,) * PART_COUNT, doubts, 3)):
        chat.session.append(ContextSnapshot(learned=wrong), origin=Origin.SYSTEM)
        assert chat.session.state.model_calibration.of("m").reports == 0
    chat.session.append(ContextSnapshot(learned=LearnedCalibration("m", factors, doubts, 7)), origin=Origin.SYSTEM)
    assert chat.session.state.model_calibration.of("m").factors == factors
    chat.lived(1)
    before = chat.session.state.model_calibration.of("m")
    chat.session.append(ContextSnapshot(learned=LearnedCalibration("m", factors, doubts, 9)), origin=Origin.SYSTEM)
    assert chat.session.state.model_calibration.of("m") == before and before.reports == 8


def test_a_report_of_no_known_request_teaches_nothing(chat: Chat) -> None:
    chat.ask()
    for model, spent in (("other", ResponseTokens(fresh=9_000)), ("m", None)):
        chat.session.append(ContextSnapshot(9_000, LIMIT, model=model, spent=spent), origin=Origin.HOST)
    assert chat.session.state.model_calibration.models == ()
    chat.answer()
    chat.answer()
    assert chat.session.state.model_calibration.of("m").reports == 1


@pytest.mark.parametrize(("floor", "advice"), [(140_000, "yellow: consider"), (170_000, "red: compact soon")])
def test_an_advisory_comes_once_however_usage_swings_round_its_floor(chat: Chat, floor: int, advice: str) -> None:
    chat.ask("user", floor - 3_000)
    texts = []
    for step in range(12):
        chat.ask("tool" if step % 3 else "user", floor + (2_000 if step % 2 else -2_000))
        texts += [chat.frame.tail, *(delta.text for delta in chat.frame.deltas)]
    told = {text for text in texts if advice in text}
    assert len(told) == 1, told


@pytest.mark.parametrize(
    ("fills", "triggers", "gauge"),
    [
        ((40_000, 41_000), ("auto", "overflow"), "66% (27k/41k observed)"),
        ((40_000, 41_000), ("auto", "manual"), "14% (27k/200k assumed)"),
        ((40_000, 90_000), ("auto", "auto"), "14% (27k/200k assumed)"),
        ((90_000, 40_000, 41_000), ("auto", "auto", "auto"), "66% (27k/41k observed)"),
        ((40_000,), ("auto",), "14% (27k/200k assumed)"),
    ],
)
def test_two_automatic_compactions_show_how_large_an_unknown_window_is(
    hud: Hud, fills: tuple[int, ...], triggers: tuple[str, ...], gauge: str
) -> None:
    session = hud.session("s")
    for used, trigger in zip(fills, triggers, strict=True):
        session.frame(used)
        session.append(CompactBefore(trigger, used), origin=Origin.HOST)
        session.append(CompactAfter("What was done.", trigger), origin=Origin.HOST)
    assert gauge in session.frame(27_000).text
