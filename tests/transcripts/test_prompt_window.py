"""What was in the window at each call, against what the provider reported for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudkit.errors import TranscriptError
from hudkit.transcripts import (
    CompactionPart,
    Message,
    OpenCodeTranscript,
    TextPart,
    ToolPart,
    llm_calls,
    prompt_blocks,
    window_at,
)
from hudkit.transcripts.prompt_window import CLEARED_TEXT, INTERRUPTED_TEXT, MARKER_TEXT

MAIN = "ses_e06196b14ffeMiDLXs7ZvRM6p9"


def characters(messages: tuple[Message, ...]) -> int:
    return sum(len(block.text) for message in messages for block in prompt_blocks(message))


@pytest.fixture(scope="module")
def main(orchard_db: Path) -> list[Message]:
    return list(OpenCodeTranscript.open(orchard_db).messages(MAIN))


def test_the_window_explains_the_reported_tokens(main: list[Message]) -> None:
    """Two unknowns, the constant part of a request and the characters of a token, fit all 165 calls of a day."""
    points = [
        (characters(call.window), call.message.usage.prompt)
        for call in llm_calls(main)
        if not call.message.summary and call.message.usage
    ]
    assert len(points) == 165
    n, sx, sy = len(points), sum(x for x, _ in points), sum(y for _, y in points)
    slope = (n * sum(x * y for x, y in points) - sx * sy) / (n * sum(x * x for x, _ in points) - sx * sx)
    constant = (sy - slope * sx) / n
    assert 3.0 < 1 / slope < 3.6  # characters of a token
    assert 7_900 < constant < 8_500  # system prompt and tools; the first call, with 370 characters, reported 8,225
    assert max(abs(y - slope * x - constant) / y for x, y in points) < 0.03


def test_growth_is_monotone_but_for_the_two_compactions(main: list[Message]) -> None:
    curve = [(call.message.id, characters(call.window)) for call in llm_calls(main) if not call.message.summary]
    drops = [after for (_, before), (after, now) in pairwise(curve) if now < before]
    summaries = [i for i, message in enumerate(main) if message.summary]
    firsts = [next(m.id for m in main[i + 1 :] if m.role == "assistant") for i in summaries]
    assert drops == firsts
    assert len(drops) == 2


def test_after_a_compaction_marker_summary_tail_rest(main: list[Message]) -> None:
    summary = next(i for i, message in enumerate(main) if message.summary)
    marker = main[summary - 1]
    part = marker.parts[0]
    assert isinstance(part, CompactionPart)
    tail = next(i for i, message in enumerate(main) if message.id == part.tail_start_id)
    assert main[tail].role == "assistant"  # inside an earlier turn
    after = next(i for i in range(summary + 1, len(main)) if main[i].role == "assistant")
    assert window_at(main, main[after].id) == (
        marker,
        main[summary],
        *main[tail : summary - 1],
        *main[summary + 1 : after],
    )
    assert window_at(main, main[summary].id) == (*main[:tail], marker)
    assert prompt_blocks(marker)[0].text == MARKER_TEXT


def test_a_manual_compaction_keeps_no_tail(opencode_db: Path) -> None:
    messages = list(OpenCodeTranscript.open(opencode_db).messages("ses_e06790d7cffe0zlLclBUl5fjcH"))
    assert (
        " ".join("summary" if m.summary else m.role[0] for m in messages) == "u a a a a a a u a u a u summary u a a"
    )
    assert window_at(messages, messages[-1].id) == tuple(messages[11:15])
    assert window_at(messages, messages[12].id) == tuple(messages[:12])
    assert window_at(messages, messages[10].id) == tuple(messages[:10])


def test_each_message_is_fresh_once(opencode_db: Path) -> None:
    for session in OpenCodeTranscript.open(opencode_db).sessions():
        messages = list(OpenCodeTranscript.open(opencode_db).messages(session.id))
        found = list(llm_calls(messages))
        fresh = [message for call in found for message in call.fresh]
        assert fresh == messages[: len(fresh)]
        assert messages[len(fresh) :] == messages[-1:] == [found[-1].message]


def test_an_unknown_message(main: list[Message]) -> None:
    with pytest.raises(TranscriptError, match="msg_nowhere"):
        window_at(main, "msg_nowhere")


def user(id: str, *parts: object) -> Message:
    return Message(id, "s", "user", parts=parts or (TextPart("t", id),))  # type: ignore[arg-type]


def answer(id: str, **fields: object) -> Message:
    return Message(id, "s", "assistant", finish="stop", parts=(TextPart("t", id),), **fields)  # type: ignore[arg-type]


def ids(messages: tuple[Message, ...]) -> str:
    return " ".join(message.id for message in messages)


def test_only_a_finished_summary_counts() -> None:
    marker = user("m", CompactionPart("p", tail_start_id="a"))
    begun = Message("s1", "s", "assistant", parent_id="m", summary=True)
    failed = answer("s2", parent_id="m", summary=True, error="APIError")
    orphan = answer("s3", parent_id="gone", summary=True)
    done = answer("s4", parent_id="m", summary=True)
    past = [user("u"), answer("a"), marker, begun, failed, orphan, user("v")]
    assert ids(window_at([*past, answer("z")], "z")) == "u a m s1 s2 s3 v"
    assert ids(window_at([*past, done, answer("z")], "z")) == "m s4 a s1 s2 s3 v"
    assert prompt_blocks(failed) == ()


def test_a_tail_that_is_gone_is_no_tail() -> None:
    marker = user("m", CompactionPart("p", tail_start_id="reverted"))
    messages = [user("u"), marker, answer("s", parent_id="m", summary=True), user("v"), answer("z")]
    assert ids(window_at(messages, "z")) == "m s v"


def test_results_as_they_are_sent() -> None:
    parts = tuple(
        ToolPart(str(n), "bash", "c", status, {"command": "ls"}, output="out", error="bad", compacted=cleared)
        for n, (status, cleared) in enumerate(
            [("completed", False), ("completed", True), ("error", False), ("running", False)]
        )
    )
    sent = prompt_blocks(Message("m", "s", "assistant", parts=parts))
    assert [b.text for b in sent if b.kind == "tool_output"] == ["out", CLEARED_TEXT, "bad", INTERRUPTED_TEXT]
    assert {b.text for b in sent if b.kind == "tool_call"} == {'{"command":"ls"}'}
    hidden = user("u", TextPart("t", "seen"), TextPart("t", "not sent", ignored=True))
    assert [b.text for b in prompt_blocks(hidden)] == ["seen"]


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Any mixture of turns, markers and summaries, also with references that make no sense."""
    messages: list[Message] = []
    for n in range(draw(st.integers(1, 25))):
        id = f"m{n}"
        any_id = st.sampled_from([message.id for message in messages] + [id, "", "x"])
        kind = draw(st.sampled_from(["user", "answer", "marker", "summary"]))
        if kind == "user":
            messages.append(user(id))
        elif kind == "answer":
            messages.append(answer(id))
        elif kind == "marker":
            messages.append(user(id, CompactionPart("p", tail_start_id=draw(any_id))))
        else:
            messages.append(answer(id, summary=True, parent_id=draw(any_id)))
    return messages


@given(transcripts())
def test_any_transcript_has_windows(messages: list[Message]) -> None:
    for call in llm_calls(messages):
        seen = [message.id for message in call.window]
        at = messages.index(call.message)
        past = [message.id for message in messages[:at]]
        assert len(seen) == len(set(seen))
        assert set(seen) <= set(past)
        assert call.window == window_at(messages, call.message.id)
        if not call.message.summary:
            since = [m.id for m in messages[:at]][-1:]  # what came last is never hidden
            assert set(since) <= set(seen)
