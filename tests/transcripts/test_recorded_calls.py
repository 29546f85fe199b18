"""Calls of recorded sessions: counts and costs as the real programs tell them, broken lines, what broke a prefix."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from hudkit.context.caching import RecordedBreak, find_recorded_break
from hudkit.tokens import prices_of
from hudkit.transcripts.recorded_calls import CallReader, RequestShape, SizedPart, TranscriptCall
from hudkit.transcripts.transcript import ReportedUsage

DATA = Path(__file__).parent / "data"


def _read(name: str, host: str = "claude-code") -> tuple[CallReader, list[TranscriptCall]]:
    reader = CallReader(host, DATA / f"{name}.jsonl")
    return reader, list(reader.calls())


def _breaks(calls: list[TranscriptCall]) -> list[RecordedBreak]:
    pairs = pairwise(calls)
    found = (find_recorded_break(before, now, number) for number, (before, now) in enumerate(pairs, 2))
    return [each for each in found if each is not None]


@pytest.mark.parametrize("name", ["claude-breaks", "claude-full", "claude-rewind", "claude-refused"])
def test_what_calls_cost_is_what_claude_code_counted(name: str) -> None:
    reader, calls = _read(name)
    usd = 0.0
    for call in calls:
        prices, usage = prices_of(call.model), call.usage
        usd += usage.input * prices.input + usage.output * prices.output
        usd += usage.cache_read * prices.cached_read + usage.cache_write * prices.cache_write
    assert reader.host_usd is not None and usd / 1e6 == pytest.approx(reader.host_usd)


@pytest.mark.parametrize(
    ("name", "host", "calls", "prompts", "compactions"),
    [
        ("claude-day", "claude-code", 11, 3, 1),
        ("claude-long", "claude-code", 39, 8, 2),
        ("claude-thrash", "claude-code", 5, 1, 3),
        ("codex-day", "codex", 9, 3, 2),
        ("codex-long", "codex", 13, 4, 4),
    ],
)
def test_calls_prompts_and_compactions_are_counted_once(
    name: str, host: str, calls: int, prompts: int, compactions: int
) -> None:
    reader, read = _read(name, host)
    assert (len(read), reader.prompts, reader.compactions) == (calls, prompts, compactions)
    assert (reader.counts.broken, reader.counts.half_written, dict(reader.counts.unknown)) == (0, 0, {})
    assert reader.counts.lines == (DATA / f"{name}.jsonl").read_text().count("\n")


def test_each_request_of_claude_code_is_known_by_its_messages() -> None:
    _, calls = _read("claude-long")
    assert all(call.request is not None and call.ttl_ms == 300_000 for call in calls)
    for before, now in pairwise(calls):
        assert before.request is not None and now.request is not None
        if now.compactions == before.compactions:
            assert now.request.messages[: len(before.request.messages)] == before.request.messages
    assert [tool.name for tool in calls[0].request.tools][:2] == ["Agent", "Bash"]  # type: ignore[union-attr]


def test_a_tool_that_is_gone_breaks_the_prefix_and_is_named() -> None:
    _, calls = _read("claude-breaks")
    (found,) = _breaks(calls)
    assert (found.call, found.cause, found.detail) == (3, "tools", "Edit gone")
    assert 21_000 < found.again < 22_000


def test_a_compaction_and_another_model_break_the_prefix() -> None:
    assert [(each.call, each.cause) for each in _breaks(_read("claude-long")[1])] == [(15, "compaction")]
    (found,) = _breaks(_read("codex-long", "codex")[1])
    assert (found.call, found.cause, found.detail) == (13, "model", "gpt-5-codex to gpt-5")


def test_the_call_that_wrote_codex_summary_is_known() -> None:
    _, calls = _read("codex-long", "codex")
    assert sum(call.summary for call in calls) == 4


def test_lines_that_are_broken_half_written_or_newer_are_counted_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    shutil.copy(DATA / "claude-day.jsonl", path)
    newer = {"type": "assistant-3", "message": {"usage": [1]}}
    other_fields = {"type": "assistant", "message": {"usage": 7}, "isMeta": "what"}
    surrogate = '{"type":"ai-title","aiTitle":"\\ud83d"}'
    empty = {"type": "user", "isMeta": None, "message": {"content": None}, "timestamp": None, "requestRef": 3}
    lines = ["{broken", json.dumps(newer), json.dumps(other_fields), "[1]", surrogate, json.dumps(empty)]
    with path.open("a") as file:
        file.write("\n".join(lines) + '\n{"type":"assis')
    reader = CallReader("claude-code", path)
    assert len(list(reader.calls())) == 11
    assert (reader.counts.broken, reader.counts.half_written) == (2, 1)
    assert dict(reader.counts.unknown) == {"assistant-3": 1, "assistant": 1}


def _call(time: int, read: int, prompt: int, request: RequestShape | None = None, **more: object) -> TranscriptCall:
    usage = ReportedUsage(input=3, cache_read=read, cache_write=prompt - read - 3, output=10)
    return TranscriptCall(time=time, model="claude-sonnet-4-5", usage=usage, request=request, **more)  # type: ignore[arg-type]


def _shape(
    messages: str, system: str = "s", tools: str = "t", settings: str = "x", source: str = "sdk"
) -> RequestShape:
    parts = (SizedPart("block 1", system, 4_000),), (SizedPart("Read", tools, 40_000),)
    return RequestShape(source, *parts, tuple(messages), settings, dict.fromkeys(messages, 1_000))


@pytest.mark.parametrize(
    ("after", "cause", "detail"),
    [
        (_shape("abc", system="S"), "system", "block 1 changed from 4,000 to 4,000 bytes"),
        (_shape("abc", tools="T"), "tools", "Read changed"),
        (_shape("axc"), "message", "message 2 of 2 is gone"),
        (_shape("abc", settings="y"), "settings", "thinking, effort or betas"),
        (_shape("abc"), "unseen", ""),
    ],
)
def test_the_first_change_of_a_request_is_the_cause(after: RequestShape, cause: str, detail: str) -> None:
    found = find_recorded_break(_call(0, 0, 20_000, _shape("ab")), _call(60_000, 0, 21_000, after), 2)
    assert found is not None and (found.cause, found.detail) == (cause, detail)
    assert found.again > 15_000


def test_an_idle_cache_is_the_cause_by_the_time_to_live_of_the_request() -> None:
    first, shape = _call(0, 0, 20_000, _shape("ab")), _shape("abc")
    found = find_recorded_break(first, _call(400_000, 0, 21_000, shape), 2)
    assert found is not None and (found.cause, found.detail) == ("idle", "6 minutes without a call")
    hour = find_recorded_break(first, _call(400_000, 0, 21_000, shape, ttl_ms=3_600_000), 2)
    assert hour is not None and hour.cause == "unseen"


def test_nothing_is_said_where_the_cache_gave_all_back_or_the_purpose_is_another() -> None:
    first = _call(0, 0, 20_000, _shape("ab"))
    assert find_recorded_break(first, _call(1, 20_000, 21_000, _shape("abc")), 2) is None
    assert find_recorded_break(first, _call(1, 0, 20_000, _shape("q", source="title")), 2) is None
