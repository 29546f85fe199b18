"""`session.ingest`: what plain messages tell becomes events, once; a message that is none is refused by name."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hudkit import Hud
from hudkit.errors import MessageError
from hudkit.ingest import IngestBatch, IngestState, ingest, observe, read_plain_messages
from hudkit.log import Origin
from hudkit.log.payloads import TranscriptSeen
from hudkit.sections.state import HudState
from hudkit.transcripts import Message, SessionRow, TextPart

AT = 1_795_000_000_000

TALK: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "text": "Never touch legacy/. Fix the parser.", "time": AT},
    {
        "id": "m2",
        "role": "assistant",
        "text": "Going with a hand-written lexer, because it is shorter.",
        "time": AT + 1_000,
        "used_tokens": 12_000,
        "tool_calls": [
            {"id": "c1", "tool": "read_file", "arguments": {"path": "/work/p/src/parser.py"}},
            {"id": "c2", "tool": "edit", "arguments": {"path": "src/parser.py", "old": "a", "new": "b"}},
            {"id": "c3", "tool": "shell", "arguments": {"cmd": "pytest -q"}, "output": "1 failed", "exit_status": 1},
        ],
    },
]
PASSED = {
    "id": "m3",
    "role": "assistant",
    "time": AT + 2_000,
    "tool_calls": [
        {"tool": "shell", "arguments": {"cmd": "pytest -q"}, "output": "3 passed in 0.10s", "exit_status": 0}
    ],
}


def test_what_messages_tell_is_in_the_state() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s", project="/work/p")
        events = session.ingest(TALK, limit_tokens=100_000)
        state = session.state
        assert [event.seq for event in events] == list(range(1, state.seq + 1))
        assert [rule.text for rule in state.constraints] == ["Never touch legacy/"]
        assert [decision.summary for decision in state.decisions] == ["Going with a hand-written lexer"]
        assert [error.key for error in state.errors.open] == ["bash: pytest"]
        assert (state.window.used_tokens, state.window.limit_tokens) == (12_000, 100_000)
        assert "src/parser.py" in {file.path for file in state.files}
        assert state.constraints[0].mark.origin is Origin.USER
        session.ingest([PASSED])
        assert not session.state.errors.open
        assert [(run.passed, run.failed) for run in session.state.progress.suites] == [(3, 0)]


def test_the_same_messages_add_nothing_also_in_another_process(tmp_path: Path) -> None:
    counts = []
    for _ in range(2):
        with Hud.open(tmp_path / "hud.db") as hud:
            session = hud.session("s")
            session.ingest(TALK)
            assert session.ingest(TALK) == ()
            counts.append(session.state.seq)
    assert len(set(counts)) == 1


@pytest.mark.parametrize("restarted", [False, True])
def test_a_clock_that_goes_back_hides_nothing_of_what_comes_next(tmp_path: Path, restarted: bool) -> None:
    """Also in another process: a rule is heard, a test that passes settles its error, the window's level is taken."""
    later, now = AT, AT - 3 * 86_400_000
    times = [later]
    with ExitStack() as opened:
        session = opened.enter_context(Hud.open(tmp_path / "log.db", clock=lambda: times[-1])).session("s")
        session.ingest(TALK)
        assert session.state.errors.open
        times.append(now)
        if restarted:
            opened.close()
            session = opened.enter_context(Hud.open(tmp_path / "log.db", clock=lambda: times[-1])).session("s")
        rule = {"id": "m4", "role": "user", "text": "Never push to main.", "time": now - 100}
        session.ingest([rule])
        session.ingest([{**PASSED, "time": now, "used_tokens": 15_000}])
        state = session.state
        assert "Never push to main" in [rule.text for rule in state.constraints]
        assert not state.errors.open
        assert state.window.used_tokens == 15_000
        assert session.ingest([*TALK, rule]) == (), "what was told is not told again"


def test_a_message_that_grows_tells_only_what_is_new() -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        running = {"role": "assistant", "time": AT, "finished": False}
        call = {"id": "c", "tool": "edit", "arguments": {"path": "a.py"}}
        assert session.ingest([{**running, "tool_calls": [{**call, "status": "running"}]}])
        assert not session.state.files
        (edited,) = session.ingest([{**running, "tool_calls": [call]}])
        assert edited.type == "file.edit"
        assert session.ingest([{**running, "tool_calls": [call]}]) == ()


def test_messages_without_a_time_are_dated_once(tmp_path: Path) -> None:
    undated = [{name: value for name, value in message.items() if name != "time"} for message in TALK]
    for _ in range(2):
        with Hud.open(tmp_path / "hud.db") as hud:
            session = hud.session("s")
            session.ingest(undated)
            assert session.ingest(undated) == ()
            seen = [event for event in session.events() if isinstance(event.payload, TranscriptSeen)]
            assert len(seen) == 1
            assert [rule.text for rule in session.state.constraints] == ["Never touch legacy/"]


def test_our_own_messages_are_taken_as_they_are() -> None:
    message = Message("m", "s", "user", created=AT, parts=(TextPart("t", "always use tabs"),))
    with Hud.in_memory() as hud:
        session = hud.session("s")
        session.ingest([message])
        assert [rule.text for rule in session.state.constraints] == ["always use tabs"]


@pytest.mark.parametrize(
    ("wrong", "field", "hint"),
    [
        ("hello", "", "Give a mapping with id, role, text"),
        ({"text": "x"}, "role", "Give 'user' or 'assistant'"),
        ({"role": "system", "text": "x"}, "role", "Give 'user' or 'assistant'"),
        ({"role": "user", "content": "x"}, "content", "The fields are id, role, text"),
        ({"role": "user", "text": ["x"]}, "text", "Give a text"),
        ({"role": "user", "time": "now"}, "time", "Give whole Unix milliseconds"),
        ({"role": "user", "time": True}, "time", "Give whole Unix milliseconds"),
        ({"role": "user", "time": -1}, "time", "from 0"),
        ({"role": "user", "text": "x", "time": AT}, "time", "Give each its own"),
        ({"role": "user", "tool_calls": [{"tool": "bash"}]}, "tool_calls", "in the assistant's message"),
        ({"role": "assistant", "tool_calls": [{"arguments": {}}]}, "tool_calls[0].tool", "the name of the tool"),
        ({"role": "assistant", "tool_calls": [{"tool": "x", "status": "ok"}]}, "tool_calls[0].status", "'completed'"),
        ({"role": "assistant", "tool_calls": [3]}, "tool_calls[0]", "Give a mapping with id, tool"),
        ({"role": "assistant", "tool_calls": [{"tool": "x", "input": {}}]}, "tool_calls[0].input", "arguments"),
    ],
)
def test_a_message_that_is_none_is_refused_by_number_and_field(wrong: Any, field: str, hint: str) -> None:
    with Hud.in_memory() as hud:
        session = hud.session("s")
        with pytest.raises(MessageError) as refused:
            session.ingest([{"role": "user", "text": "Never push", "time": AT}, wrong])
        assert refused.value.details == {"number": 1, "field": field}
        assert "message 1" in refused.value.message and hint in refused.value.hint
        assert session.state.seq == 0, "all or none"


def test_ingest_is_a_function_of_what_is_known_and_the_batch() -> None:
    known = observe(IngestState(row=SessionRow(id="s", host="h"), hud=HudState()), (), HudState())
    batch = IngestBatch(messages=read_plain_messages(TALK))
    after, events = ingest(known, batch)
    assert ingest(known, batch) == (after, events), "the same again"
    assert not [event for event in ingest(after, batch)[1] if event.id], "nothing is told twice"
    assert [event.id for event in events if event.id] == sorted(
        (event.id for event in events if event.id), key=lambda id: id[:13]
    ), "in the order of the messages"
