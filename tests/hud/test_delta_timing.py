"""Deltas: what is told at once, what waits for the start of a turn, where it is put and when it is told again."""

from __future__ import annotations

import pytest

from hudkit.api import Hud, HudSession
from hudkit.config import BandSettings, Settings
from hudkit.hud.frame import Frame
from hudkit.log import Origin
from hudkit.log.payloads import (
    BlockerAdd,
    CompactAfter,
    ErrorEncountered,
    FileEdit,
    FileOpen,
    NoteAdd,
    NoteRemove,
    Payload,
    SessionLink,
    StepAdd,
    TaskSet,
    TodoItem,
    TodoSync,
)

USER, TOOL = "user", "tool"
LIMIT = 200_000


class Chat:
    """A transcript that grows by one message a call."""

    def __init__(self, session: HudSession) -> None:
        self.session = session
        self.messages: list[tuple[str, str]] = []

    def say(self, role: str, used: int | None = None) -> Frame:
        self.messages.append((f"m{len(self.messages)}", role))
        return self.session.frame(used, LIMIT, transcript=list(self.messages))


@pytest.fixture
def chat(hud: Hud) -> Chat:
    session = hud.session("s")
    session.append(TaskSet("Ship it"), FileOpen("a.py"))
    return Chat(session)


PRESSING: list[Payload] = [
    NoteAdd("x"), BlockerAdd("x"), StepAdd("x"), TaskSet("x")
]  # fmt: skip
WAITING: list[Payload] = [FileOpen("x.py"), FileEdit("a.py"), TodoSync((TodoItem("x"),)), ErrorEncountered("x")]
NEVER: list[Payload] = [SessionLink("parent", "x")]


@pytest.mark.parametrize("told", PRESSING, ids=lambda one: type(one).__name__)
def test_what_presses_is_told_within_the_turn(chat: Chat, told: Payload) -> None:
    chat.say(USER)
    chat.session.append(told)
    frame = chat.say(TOOL)
    assert [(delta.anchor, delta.form) for delta in frame.deltas] == [("m1", "tool")]
    assert "x" in frame.deltas[0].text and frame.tail == ""


@pytest.mark.parametrize("told", WAITING, ids=lambda one: type(one).__name__)
def test_what_does_not_press_waits_for_the_turn(chat: Chat, told: Payload) -> None:
    chat.say(USER)
    chat.session.append(told)
    assert chat.say(TOOL).deltas == ()
    assert chat.say(TOOL).deltas == ()
    frame = chat.say(USER)
    assert [(delta.anchor, delta.form) for delta in frame.deltas] == [("m3", "user")]
    assert any(word in frame.deltas[0].text for word in (".py", "todo", "error: x"))


@pytest.mark.parametrize("told", NEVER, ids=lambda one: type(one).__name__)
def test_what_waits_for_the_next_epoch(chat: Chat, told: Payload) -> None:
    chat.say(USER)
    chat.session.append(told)
    assert chat.say(TOOL).deltas == () and chat.say(USER).deltas == ()
    chat.session.append(CompactAfter(), origin=Origin.HOST)
    assert "work for another session" in chat.say(USER).base


def test_what_waits_goes_along_with_what_presses(chat: Chat) -> None:
    chat.say(USER)
    chat.session.append(FileEdit("b.py"), NoteAdd("now"))
    frame = chat.say(TOOL)
    assert frame.deltas[0].text == f"[hud {frame.tag}]\n\n- note: now\n- file: b.py (editing)\n"


def test_what_was_taken_back_before_it_was_told_is_not_told(chat: Chat) -> None:
    chat.say(USER)
    chat.session.append(NoteAdd("x"), NoteRemove("n1"))
    assert chat.say(TOOL).deltas == () and chat.say(USER).deltas == ()


def test_each_change_is_told_once(chat: Chat) -> None:
    chat.say(USER)
    for n in range(3):
        chat.session.append(NoteAdd(f"note {n}"))
        frame = chat.say(TOOL)
    assert [delta.text.count("note:") for delta in frame.deltas] == [1, 1, 1]
    assert [delta.anchor for delta in frame.deltas] == ["m1", "m2", "m3"]
    assert [delta.id for delta in frame.deltas] == ["1.1", "1.2", "1.3"]


def test_a_revert_tells_again_and_an_unrevert_shows_all(chat: Chat) -> None:
    chat.say(USER)
    chat.session.append(NoteAdd("one"))
    chat.say(USER)
    chat.session.append(NoteAdd("two"))
    whole = chat.say(USER)
    before = list(chat.messages)
    del chat.messages[2:]
    chat.messages.append(("other", USER))
    frame = chat.session.frame(transcript=chat.messages)
    assert [delta.id for delta in frame.deltas] == ["1.1", "1.3"]
    assert frame.deltas[1].anchor == "other" and "two" in frame.deltas[1].text and "one" not in frame.deltas[1].text
    back = chat.session.frame(transcript=before)
    assert [delta.id for delta in back.deltas] == ["1.1", "1.2"] and back.deltas == whole.deltas
    assert frame.base == back.base == whole.base


def test_a_prune_of_the_middle_tells_what_is_behind_the_gap(chat: Chat) -> None:
    chat.say(USER)
    for word in ("one", "two", "three"):
        chat.session.append(NoteAdd(word))
        chat.say(USER)
    anchors = [chat.messages[n] for n in (0, 1, 3)] + [("new", USER)]
    frame = chat.session.frame(transcript=anchors)
    assert [delta.id for delta in frame.deltas] == ["1.1", "1.3", "1.4"]
    assert "two" in frame.deltas[-1].text and frame.deltas[-1].anchor == "new"
    assert "one" not in frame.deltas[-1].text


def test_within_a_turn_there_is_no_tail(chat: Chat) -> None:
    assert chat.say(USER, 1000).tail == "Context: 0% (1k/200k)\n"
    assert chat.say(TOOL, 2000).tail == ""
    assert chat.say("assistant", 2000).tail == ""


def test_the_model_is_named_beside_the_usage_at_the_start_of_a_turn_only(chat: Chat) -> None:
    calls = {"m0": USER, "m1": TOOL, "m2": USER}
    frames = [
        chat.session.frame(150_000, LIMIT, model="openai/gpt-4o", transcript=list(calls.items())[: n + 1])
        for n in range(3)
    ]
    assert frames[0].tail.startswith("Context: 75% (150k/200k) of gpt-4o, yellow: consider")
    assert frames[1].tail == "" and "gpt-4o" not in frames[1].text
    assert frames[2].tail == "Context: 75% (150k/200k) of gpt-4o, yellow\n" and frames[2].epoch == frames[0].epoch
    small = chat.session.frame(1_000, LIMIT, model="openai/gpt-4o", budget=299)
    assert small.tail.startswith("Context: 0% (1k/200k)") and "gpt-4o" not in small.text


def test_while_there_is_room_the_model_is_named_where_it_is_new(chat: Chat) -> None:
    def tail(model: str) -> str:
        chat.say(USER)
        return chat.session.frame(1_000, LIMIT, model=model, transcript=chat.messages).tail

    assert [" of gpt-4o" in tail(f"openai/{model}") for model in ("gpt-4o", "gpt-4o", "o3", "gpt-4o")] == [
        True, False, False, True,
    ]  # fmt: skip


def alarms(chat: Chat, *used: int) -> list[str]:
    """The line of the new delta's alarm in each of a row of tool steps."""
    lines = []
    seen = 0
    for tokens in used:
        frame = chat.say(TOOL, tokens)
        new = [line for delta in frame.deltas[seen:] for line in delta.text.splitlines() if "context now" in line]
        seen = len(frame.deltas)
        lines.append(new[0].partition("context now: ")[2] if new else "")
    return lines


def test_a_band_is_told_once_within_a_turn(chat: Chat) -> None:
    chat.say(USER, 100_000)
    yellow = ", yellow: consider compacting at the next break point"
    assert alarms(chat, 139_000, 140_000, 145_000, 139_000, 150_000) == [
        "", f"70% (140k/200k){yellow}", "", "", ""
    ]  # fmt: skip


def test_each_worse_band_is_told_and_none_on_the_way_down(chat: Chat) -> None:
    chat.say(USER, 100_000)
    found = alarms(chat, 150_000, 172_000, 185_000, 100_000, 150_000)
    assert [line.partition(", ")[2].partition(":")[0] for line in found] == [
        "yellow",
        "red",
        "critical",
        "",
        "yellow",
    ]


def test_a_lower_band_that_still_matters_is_told(chat: Chat) -> None:
    chat.say(USER, 100_000)
    assert [line.partition(", ")[2].partition(":")[0] for line in alarms(chat, 185_000, 150_000)] == [
        "critical", "yellow"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("used", "band"),
    [(140_000, "yellow"), (136_001, "yellow"), (136_000, "yellow"), (135_999, "green"), (170_000, "red")],
)
def test_a_band_is_left_downward_with_hysteresis(chat: Chat, used: int, band: str) -> None:
    chat.say(USER, 145_000)
    assert chat.say(TOOL, used).band == band


def test_hysteresis_and_floors_are_settings() -> None:
    settings = Settings(bands=BandSettings(yellow=50, hysteresis=10))
    chat = Chat(Hud.in_memory(settings=settings).session("s"))
    assert [chat.say(USER, used).band for used in (99_000, 100_000, 81_000, 79_000)] == [
        "green", "yellow", "yellow", "green"
    ]  # fmt: skip


def test_at_the_start_of_a_turn_the_tail_tells_the_band(chat: Chat) -> None:
    tails = [chat.say(USER, used).tail for used in (100_000, 150_000, 150_000, 175_000)]
    assert tails == [
        "Context: 50% (100k/200k)\n",
        "Context: 75% (150k/200k), yellow: consider compacting at the next break point\n",
        "Context: 75% (150k/200k), yellow\n",
        "Context: 88% (175k/200k), red: compact soon; growing fast, about 1 call until critical\n",
    ]
    assert all("context now" not in delta.text for delta in chat.say(USER, 190_000).deltas)


def test_an_alarm_carries_what_waits(chat: Chat) -> None:
    chat.say(USER, 100_000)
    chat.session.append(FileEdit("b.py"))
    frame = chat.say(TOOL, 150_000)
    lines = frame.deltas[0].text.splitlines()
    assert lines[2] == "- file: b.py (editing)" and lines[3].startswith("- context now: 75%")


def test_after_a_compaction_usage_is_unknown_until_the_next_report(chat: Chat) -> None:
    chat.say(USER, 190_000)
    chat.session.append(CompactAfter("so far"), origin=Origin.HOST)
    unknown = chat.say(USER)
    assert unknown.band == "unknown" and unknown.density == "full"
    assert unknown.tail == "Context: usage unknown until the next report, window 200k\n"
    assert chat.say(TOOL).deltas == ()
    known = chat.say(USER, 20_000)
    assert known.band == "green" and known.tail == "Context: 10% (20k/200k)\n"


def test_what_a_host_reports_with_the_compaction_is_an_estimate(chat: Chat) -> None:
    chat.say(USER, 190_000)
    chat.session.append(CompactAfter("so far", used_tokens=20_000), origin=Origin.HOST)
    assert chat.say(USER).tail == "Context: 10% (~20k/200k)\n"


def test_a_window_that_nobody_told_is_said_to_be_assumed(hud: Hud) -> None:
    assert hud.session("s").frame(1000).tail == "Context: 0% (1k/200k assumed)\n"
